package vsphere

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"ebbtide/internal/adapter"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
)

// tagged lists what a tag, category/name, is attached to. Tags have an API and a session of their own.
func (c *Conn) tagged(ctx context.Context, tag string) (map[ref]bool, error) {
	found := make(map[ref]bool)
	err := c.do(ctx, func(ctx context.Context, s *session) error {
		if s.agent() {
			return fmt.Errorf("%w: a host has no tags: give via a vCenter", adapter.ErrRefused)
		}
		password, err := c.secrets.Secret(c.spec.Password)
		if err != nil {
			return fmt.Errorf("%w: cannot read the password of connection %q: %w", adapter.ErrRefused, c.name, err)
		}
		ctx = within(ctx, tagsRoom)
		client := rest.NewClient(s.Client)
		bound(client.Client)
		if err := client.Login(ctx, url.UserPassword(c.spec.Username, password)); err != nil {
			if rest.IsStatusError(err, http.StatusUnauthorized) {
				return fmt.Errorf("%w: %q may not log in to read tags", adapter.ErrRefused, c.spec.Username)
			}
			return fmt.Errorf("cannot log in to read tags: %w", err)
		}
		defer func() { _ = client.Logout(ctx) }() // the server ends it anyway after a while
		manager := tags.NewManager(client)
		category, name, _ := strings.Cut(tag, "/")
		categories, err := manager.GetCategories(ctx)
		if err != nil {
			return err
		}
		for _, k := range categories {
			if k.Name != category {
				continue
			}
			all, err := manager.GetTagsForCategory(ctx, k.ID)
			if err != nil {
				return err
			}
			for _, t := range all {
				if t.Name != name {
					continue
				}
				objects, err := manager.ListAttachedObjects(ctx, t.ID)
				for _, o := range objects {
					found[o.Reference()] = true
				}
				return err
			}
		}
		return fmt.Errorf("%w: there is no tag %q in category %q, or the account may not see it", adapter.ErrRefused, name, category)
	})
	return found, explainRead(err)
}
