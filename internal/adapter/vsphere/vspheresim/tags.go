package vspheresim

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator" // serves tags
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
)

// tag makes the tags of all VMs, as a client does: the simulator has no other way.
func (s *Sim) tag() error {
	objects := make(map[string][]mo.Reference)
	for _, m := range s.machines {
		for _, t := range m.Tags {
			objects[t] = append(objects[t], m.shown[s.vcenter].Self)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	ctx := context.Background()
	u, err := url.Parse(s.vcenter.URL())
	if err != nil {
		return err
	}
	vc, err := vim25.NewClient(ctx, soap.NewClient(u, true)) // ourselves, on loopback
	if err != nil {
		return err
	}
	defer vc.CloseIdleConnections()
	client := rest.NewClient(vc)
	if err := client.Login(ctx, url.UserPassword(User, Password)); err != nil {
		return err
	}
	manager := tags.NewManager(client)
	categories := make(map[string]string)
	for name, vms := range objects {
		category, tag, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("tag %q is not category/name", name)
		}
		if categories[category] == "" {
			id, err := manager.CreateCategory(ctx, &tags.Category{Name: category, Cardinality: "MULTIPLE"})
			if err != nil {
				return fmt.Errorf("cannot make category %q: %w", category, err)
			}
			categories[category] = id
		}
		id, err := manager.CreateTag(ctx, &tags.Tag{Name: tag, CategoryID: categories[category]})
		if err != nil {
			return fmt.Errorf("cannot make tag %q: %w", name, err)
		}
		if err := manager.AttachTagToMultipleObjects(ctx, id, vms); err != nil {
			return fmt.Errorf("cannot attach tag %q: %w", name, err)
		}
	}
	return client.Logout(ctx)
}
