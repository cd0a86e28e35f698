package libvirt

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"
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
	slices.SortFunc(members, func(a, b plan.Member) int { return cmp.Compare(a.Name, b.Name) })
	return members, nil
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
		if !n.spec.covers(d.Name) {
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
			if ok, _ := path.Match(glob, title); !ok {
				continue
			}
		}
		found = append(found, d)
	}
	return found, nil
}

// covers tells whether a name is selected. The globs were checked with the runbook.
func (s *DomainsSpec) covers(name string) bool {
	if s.Select.Name != "" {
		if ok, _ := path.Match(s.Select.Name, name); !ok {
			return false
		}
	}
	return !slices.ContainsFunc(s.Exclude, func(glob string) bool {
		ok, _ := path.Match(glob, name)
		return ok
	})
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
	members, err := n.Members(ctx)
	if err != nil {
		return plan.Observation{}, err
	}
	on := 0
	for _, m := range members {
		if m.On {
			on++
		}
	}
	o := plan.Observation{State: plan.Off, Detail: fmt.Sprintf("%d of %d domains are on", on, len(members))}
	if on > 0 {
		o.State = plan.On
	}
	return o, nil
}

// Do is refused: commands go to the members.
func (n *domains) Do(_ context.Context, v plan.Verb) error {
	return fmt.Errorf("cannot %s the domains of %s: %w: commands go to its members", v, n.spec.Select, adapter.ErrRefused)
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
