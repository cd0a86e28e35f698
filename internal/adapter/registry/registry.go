// Package registry opens the connections and nodes of a runbook, and gives them by their ids.
package registry

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/healthcheck"
	"ebbtide/internal/adapter/wake"
	"ebbtide/internal/schema"
)

// Registry is the opened estate of one runbook: its connections and nodes, by their ids. Its methods may be called at the
// same time.
type Registry struct {
	mu       sync.RWMutex
	conns    map[string]adapter.Conn
	order    []string // of conns, as opened
	nodes    map[string]adapter.Node
	decls    map[string]schema.Node
	listers  map[string]adapter.Lister // by connection
	decorate []func(schema.Node, adapter.Node) adapter.Node
}

// Open makes the connections and nodes that a runbook declares. Nothing is dialled. All that can't be made is
// reported in one error, and then nothing stays open.
//
// A node with up.wake answers Start by the wake and leaves everything else to its own adapter; a node with up.healthy
// has its checks in its probe's answer.
func Open(families []adapter.Family, connections []schema.Connection, nodes []schema.Node,
	secrets adapter.Secrets,
) (*Registry, error) {
	s := &Registry{
		conns: map[string]adapter.Conn{}, nodes: map[string]adapter.Node{}, decls: map[string]schema.Node{},
		listers: map[string]adapter.Lister{},
	}
	var errs []error
	for _, d := range connections {
		if err := s.connect(families, d, secrets); err != nil {
			errs = append(errs, fmt.Errorf("cannot use connection %q: %w", d.Name, err))
		}
	}
	if len(errs) == 0 { // a node of a broken connection would only repeat its error
		for _, d := range nodes {
			if err := s.open(families, d); err != nil {
				errs = append(errs, fmt.Errorf("cannot use node %q: %w", d.ID, err))
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(append(errs, s.Close())...)
	}
	return s, nil
}

func (s *Registry) connect(families []adapter.Family, d schema.Connection, secrets adapter.Secrets) error {
	if _, dup := s.conns[d.Name]; dup {
		return errors.New("it is declared twice")
	}
	for _, f := range families {
		if !slices.ContainsFunc(f.Connections, func(t schema.AnyConnectionType) bool { return t.Name == d.Type }) {
			continue
		}
		conn, err := f.Connect(d, secrets)
		if err != nil {
			return err
		}
		s.conns[d.Name] = conn
		if lister, ok := conn.(adapter.Lister); ok {
			s.listers[d.Name] = lister
		}
		s.order = append(s.order, d.Name)
		return nil
	}
	return fmt.Errorf("no adapter serves connections of type %q", d.Type)
}

func (s *Registry) open(families []adapter.Family, d schema.Node) error {
	if _, dup := s.nodes[d.ID]; dup {
		return errors.New("it is declared twice")
	}
	for _, f := range families {
		if !slices.ContainsFunc(f.Nodes, func(t schema.AnyNodeType) bool { return t.Name == d.Type }) {
			continue
		}
		var conn adapter.Conn
		if d.Via != "" {
			var err error
			if conn, err = s.conn(d.Via); err != nil {
				return err
			}
		}
		n, err := f.Open(d, conn, s.conn)
		if err != nil {
			return err
		}
		if _, many := n.(adapter.Selector); many && (d.Wake != nil || len(d.Healthy) > 0) {
			return errors.New("it stands for many nodes: up.wake and up.healthy are for single nodes")
		}
		if n, err = wake.With(n, d, s.conn); err != nil {
			return err
		}
		if _, known := s.listers[d.Via]; f.List != nil && conn != nil && !known {
			s.listers[d.Via] = f.List(conn)
		}
		s.nodes[d.ID], s.decls[d.ID] = healthcheck.With(n, d.Healthy), d
		return nil
	}
	return fmt.Errorf("no adapter serves nodes of type %q", d.Type)
}

func (s *Registry) conn(name string) (adapter.Conn, error) {
	if c, ok := s.conns[name]; ok {
		return c, nil
	}
	return nil, fmt.Errorf("connection %q is not declared", name)
}

// Concurrency is how many calls of its nodes a connection takes at once, or otherwise where it does not know.
func (s *Registry) Concurrency(connection string, otherwise int) int {
	if p, ok := s.conns[connection].(adapter.Pacer); ok {
		return p.Concurrency()
	}
	return otherwise
}

// Conn gives a connection by its name, nil if there is none.
func (s *Registry) Conn(name string) adapter.Conn { return s.conns[name] }

// Lister gives what lists what runs on the system that a connection leads to; false if nothing can.
func (s *Registry) Lister(connection string) (adapter.Lister, bool) {
	l, ok := s.listers[connection]
	return l, ok
}

// Decorate wraps every node but the selectors, now and as members are added, e.g. by Log, Limit or Rehearse. Of
// several the first is the innermost. A member's declaration is its selector's with the member's own node id.
func (s *Registry) Decorate(wrap func(schema.Node, adapter.Node) adapter.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decorate = append(s.decorate, wrap)
	for id, n := range s.nodes {
		if _, many := n.(adapter.Selector); !many {
			s.nodes[id] = wrap(s.decls[id], n)
		}
	}
}

// Node gives a node by its id.
func (s *Registry) Node(id string) (adapter.Node, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, ok := s.nodes[id]
	return n, ok
}

// Selector gives a node that stands for many.
func (s *Registry) Selector(id string) (adapter.Selector, bool) {
	n, ok := s.Node(id)
	if !ok {
		return nil, false
	}
	sel, ok := n.(adapter.Selector)
	return sel, ok
}

// AddMember makes node nodeID from a member of a selector. A node that is there already is replaced: the inventory
// may have changed since.
func (s *Registry) AddMember(nodeID, selectorID, memberID string) error {
	sel, ok := s.Selector(selectorID)
	if !ok {
		return fmt.Errorf("cannot add node %q: %q stands for no other nodes", nodeID, selectorID)
	}
	n, err := sel.Member(memberID)
	if err != nil {
		return fmt.Errorf("cannot add node %q of %q: %w", nodeID, selectorID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.decls[selectorID]
	d.ID = nodeID
	for _, wrap := range s.decorate {
		n = wrap(d, n)
	}
	s.nodes[nodeID], s.decls[nodeID] = n, d
	return nil
}

// Close ends all connections, the newest first. Their nodes answer ErrUnreachable afterwards.
func (s *Registry) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, name := range slices.Backward(s.order) {
		if err := s.conns[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("cannot close connection %q: %w", name, err))
		}
	}
	s.order = nil
	return errors.Join(errs...)
}
