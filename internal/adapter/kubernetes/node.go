package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// node is a kubernetes.node.
type node struct {
	conn *conn
	name string

	mu   sync.Mutex
	held string // why pods were not evicted when that was last tried, in words for people
}

// load is what runs on a node, as far as it matters to a drain.
type load struct {
	toEvict []pod
	ending  int      // of them: those that were told to end
	naked   []string // pods that nothing would create again: they stay, and end with their machine
}

// weigh takes what kubectl drain takes: not the pods of DaemonSets, which are created again where they were, nor those that a
// kubelet has from a file of its own.
func weigh(pods []pod) load {
	var l load
	for _, p := range pods {
		_, mirror := p.Metadata.Annotations["kubernetes.io/config.mirror"]
		switch controller := p.controller(); {
		case mirror, controller == "DaemonSet":
		case controller == "" && !p.ending():
			l.naked = append(l.naked, p.String())
		default:
			l.toEvict = append(l.toEvict, p)
			if p.ending() {
				l.ending++
			}
		}
	}
	return l
}

func (l *load) String() string {
	left := make([]string, 0, len(l.toEvict))
	for _, p := range l.toEvict {
		left = append(left, p.String())
	}
	text := "no pods left to evict"
	if len(left) > 0 {
		text = fmt.Sprintf("pods left: %d (%d terminating): %s", len(left), l.ending, english.List(left, 6))
	}
	if len(l.naked) > 0 {
		text += "; not evicted, because no controller would recreate them: " + english.List(l.naked, 6)
	}
	return text
}

// Probe reports whether the node is cordoned: cordoned for the shutdown, with nothing left to evict.
func (n *node) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := n.look(ctx)
	switch {
	case errors.Is(err, adapter.ErrGone):
		return plan.Observation{State: plan.Gone, Detail: err.Error()}, nil
	case err != nil:
		return plan.Observation{}, fmt.Errorf("cannot probe %q: %w", n.name, err)
	}
	return seen, nil
}

func (n *node) look(ctx context.Context) (plan.Observation, error) {
	o, err := n.conn.node(ctx, n.name)
	if err != nil {
		return plan.Observation{}, err
	}
	pods, err := n.conn.pods(ctx, n.name)
	if err != nil {
		return plan.Observation{}, err
	}
	l := weigh(pods)
	done := o.isCordonedByUs() && len(l.toEvict) == 0
	seen := plan.Observation{State: plan.On, Protected: plan.FactOf(done)}
	if !done {
		seen.Settings = o.before()
	}
	if o.isCordonedByUs() && !done {
		seen.Protected = plan.NotKnown // neither: what was cordoned by half is put back
	}
	words := []string{schedulable}
	if o.Spec.Unschedulable {
		words[0] = cordoned
	}
	if !o.ready() {
		words = append(words, "its kubelet is not ready and terminates no pods")
	}
	words = append(words, l.String())
	if held := n.heldBy(); held != "" && o.isCordonedByUs() && !done {
		words = append(words, held)
	}
	seen.Detail = strings.Join(words, "; ")
	return seen, nil
}

// Do sets the node aside or puts it back.
func (n *node) Do(ctx context.Context, do adapter.Command) error {
	var err error
	switch do.Verb {
	case plan.Protect:
		err = n.protect(ctx)
	case plan.Unprotect:
		err = n.unprotect(ctx, do.Settings)
	default:
		err = fmt.Errorf("%w: it can only be cordoned and uncordoned; its machine is another node", adapter.ErrRefused)
	}
	if err != nil {
		return fmt.Errorf("cannot %s %q: %w", do.Verb, n.name, err)
	}
	return nil
}

func (n *node) protect(ctx context.Context) error {
	o, err := n.conn.node(ctx, n.name)
	if err != nil {
		return err
	}
	if !o.isCordonedByUs() {
		if err := n.conn.patch(ctx, n.name, change(o.before(), true)); err != nil {
			return fmt.Errorf("cannot cordon it: %w", err)
		}
	}
	pods, err := n.conn.pods(ctx, n.name)
	if err != nil {
		return err
	}
	return n.drain(ctx, weigh(pods).toEvict)
}

// drain tells all pods to end. It is ErrBusy as long as any is held, so that it is given again: a budget that lets no pod go
// now lets it go when others of its kind have come up elsewhere, or never.
func (n *node) drain(ctx context.Context, pods []pod) error {
	var held, refused []error
	for i := range pods {
		if pods[i].ending() {
			continue
		}
		switch err := n.conn.evict(ctx, &pods[i]); {
		case errors.Is(err, adapter.ErrBusy):
			held = append(held, err)
		case errors.Is(err, adapter.ErrRefused):
			refused = append(refused, err)
		case err != nil:
			return fmt.Errorf("cannot evict %s: %w", &pods[i], err)
		}
	}
	if len(refused) > 0 && len(refused) == len(pods) {
		n.hold("")
		return fmt.Errorf("cannot evict its pods: %w", refused[0])
	}
	held = append(held, refused...) // something else moves: a webhook may think better of it
	if len(held) == 0 {
		n.hold("")
		return nil
	}
	words := make([]string, 0, len(held))
	for _, err := range held {
		words = append(words, strings.TrimPrefix(err.Error(), adapter.ErrBusy.Error()+": "))
	}
	n.hold(english.List(words, 6))
	return fmt.Errorf("%w: %s", adapter.ErrBusy, english.List(words, 6))
}

// unprotect puts the node back to what it was: one that somebody else had cordoned stays so.
func (n *node) unprotect(ctx context.Context, before string) error {
	o, err := n.conn.node(ctx, n.name)
	if err != nil {
		return err
	}
	if o.Metadata.Annotations[mark] == "" { // it was never cordoned, or is back already
		return nil
	}
	n.hold("")
	if err := n.conn.patch(ctx, n.name, change("", cmp.Or(before, o.before()) == cordoned && o.Spec.Unschedulable)); err != nil {
		return fmt.Errorf("cannot uncordon it: %w", err)
	}
	return nil
}

// change is a patch that sets the mark, or removes it if it is "", and cordons or uncordons.
func change(was string, cordon bool) map[string]any {
	type object = map[string]any
	var value any
	if was != "" {
		value = was
	}
	return object{"metadata": object{"annotations": object{mark: value}}, "spec": object{"unschedulable": cordon}}
}

func (n *node) hold(why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = why
}

func (n *node) heldBy() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}
