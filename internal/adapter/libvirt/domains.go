package libvirt

import (
	"context"
	"fmt"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/selector"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// domains is a libvirt.domains.
type domains struct {
	conn *conn
	spec *DomainsSpec
}

// Members lists the domains that the selection covers now, by name.
func (n *domains) Members(ctx context.Context) ([]plan.Member, error) {
	found, err := call(ctx, n.conn, n.list)
	if err != nil {
		return nil, fmt.Errorf("cannot list the domains of %s: %w", n.spec.Select, explainRead(err))
	}
	members := make([]plan.Member, 0, len(found))
	for _, d := range found {
		// The number of a domain is that of its process; what has none is off.
		members = append(members, plan.Member{ID: uuid.UUID(d.UUID).String(), Name: d.Name, On: d.ID >= 0})
	}
	selector.Sort(members)
	return members, nil
}

// Everything lists the domains that are on, whether a node covers them or not.
func (c *conn) Everything(ctx context.Context) ([]schema.Running, error) {
	all, err := (&domains{conn: c, spec: &DomainsSpec{Select: Selection{All: true}}}).Members(ctx)
	var running []schema.Running
	for _, m := range all {
		if m.On {
			running = append(running, schema.Running{Member: m})
		}
	}
	return running, err
}

// Find tells the domain that is on and whose firmware says a UUID: libvirt gives its guests that of the domain.
func (c *conn) Find(ctx context.Context, firmware string) (id string, err error) {
	running, err := c.Everything(ctx)
	for _, r := range running {
		if selector.SameFirmware(r.ID, firmware) {
			return r.ID, nil
		}
	}
	return "", err
}

func (n *domains) list(l *libvirt.Libvirt) ([]libvirt.Domain, error) {
	flags := libvirt.ConnectListDomainsActive | libvirt.ConnectListDomainsInactive
	if n.spec.Select.Autostart {
		flags |= libvirt.ConnectListDomainsAutostart
	}
	all, _, err := l.ConnectListAllDomains(1, flags)
	if err != nil {
		return nil, err
	}
	var found []libvirt.Domain
	for _, d := range all {
		if !selector.Covers(d.Name, n.spec.Select.Name, n.spec.Exclude) {
			continue
		}
		if glob := n.spec.Select.Title; glob != "" {
			title, err := l.DomainGetMetadata(d, int32(libvirt.DomainMetadataTitle), nil, libvirt.DomainAffectCurrent)
			if number, said := code(err); said && (number == libvirt.ErrNoDomainMetadata || number == libvirt.ErrNoDomain) {
				continue // it has no title, or is gone since
			}
			if err != nil {
				return nil, err
			}
			if !selector.Covers(title, glob, nil) {
				continue
			}
		}
		found = append(found, d)
	}
	return found, nil
}

// Member gives the node of one member.
func (n *domains) Member(id string) (adapter.Node, error) {
	known, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("%q is not the UUID of a domain: %w", id, err)
	}
	return &domain{conn: n.conn, uuid: known, agent: n.spec.Agent}, nil
}

// Probe counts: on while any member is.
func (n *domains) Probe(ctx context.Context) (plan.Observation, error) {
	return selector.Probe(ctx, n, "domains")
}

// Do is refused: commands go to the members.
func (n *domains) Do(_ context.Context, do adapter.Command) error {
	return selector.Refuse(do.Verb, "domains of "+n.spec.Select.String())
}

func (s Selection) String() string {
	var parts []string
	if s.Name != "" {
		parts = append(parts, fmt.Sprintf("name %q", s.Name))
	}
	if s.Title != "" {
		parts = append(parts, fmt.Sprintf("title %q", s.Title))
	}
	if s.Autostart {
		parts = append(parts, "autostart")
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ", ")
}
