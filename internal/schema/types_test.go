package schema_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"

	"github.com/stretchr/testify/require"
)

type boxKeys struct {
	Slow bool `yaml:"slow"`
}

func TestATypeInAListIsWhatItsFamilyDeclared(t *testing.T) {
	wrong := errors.New("wrong")
	declared := schema.NodeType[boxKeys]{
		Traits:   schema.Traits{Name: "box", Kind: plan.Host, Can: plan.VerbSet(plan.Stop)},
		Verbs:    func(s *boxKeys) plan.Verbs { return map[bool]plan.Verbs{true: plan.VerbSet(plan.Force)}[s.Slow] },
		Healthy:  func(s *boxKeys) bool { return s.Slow },
		OffAfter: func(s *boxKeys) time.Duration { return map[bool]time.Duration{true: time.Minute}[s.Slow] },
		Check:    func(s *boxKeys) []error { return map[bool][]error{true: {wrong}}[s.Slow] },
		ByHand: func(d *schema.Node, _ *boxKeys, places func(string) manual.Endpoint) manual.Procedure {
			return manual.Procedure{On: []manual.Instruction{{Say: d.ID, Type: places(d.Via).Address}}}
		},
	}
	listed := declared.Any()
	requireAllSet(t, reflect.ValueOf(listed))
	spec := listed.Spec()
	require.Equal(t, &boxKeys{}, spec)
	spec.(*boxKeys).Slow = true
	require.Equal(t, plan.VerbSet(plan.Force), listed.Verbs(spec))
	require.True(t, listed.Healthy(spec))
	require.Equal(t, time.Minute, listed.OffAfter(spec))
	require.Equal(t, []error{wrong}, listed.Check(spec))
	hand := listed.ByHand(&schema.Node{ID: "a", Via: "c", Spec: spec}, func(name string) manual.Endpoint { return manual.Endpoint{Address: name} })
	require.Equal(t, []manual.Instruction{{Say: "a", Type: "c"}}, hand.On)

	conn := schema.ConnectionType[boxKeys]{
		Name: "box", Doc: "a box", Powers: true, ByHand: []manual.Instruction{{Say: "first"}},
		Check:    func(s *boxKeys) []error { return map[bool][]error{true: {wrong}}[s.Slow] },
		Endpoint: func(s *boxKeys) manual.Endpoint { return manual.Endpoint{User: map[bool]string{true: "slow"}[s.Slow]} },
	}.Any()
	requireAllSet(t, reflect.ValueOf(conn))
	require.Equal(t, []error{wrong}, conn.Check(spec))
	require.Equal(t, "slow", conn.Endpoint(spec).User)
}

// requireAllSet finds what was forgotten on the way into a list.
func requireAllSet(t *testing.T, of reflect.Value) {
	t.Helper()
	for i := range of.NumField() {
		require.False(t, of.Field(i).IsZero(), of.Type().Field(i).Name)
	}
}

func TestWhatAFamilyLeavesOutIsNotThere(t *testing.T) {
	bare := schema.NodeType[schema.NoKeys]{Traits: schema.Traits{Name: "bare"}}.Any()
	require.Nil(t, bare.Verbs)
	require.Nil(t, bare.Healthy)
	require.Nil(t, bare.OffAfter)
	require.Nil(t, bare.Check)
	require.Nil(t, bare.ByHand)
	require.Nil(t, schema.ConnectionType[schema.NoKeys]{}.Any().Endpoint)

	can := plan.VerbSet(plan.Stop, plan.Start)
	fixed := schema.NodeType[schema.NoKeys]{Traits: schema.Traits{Can: can}}.Any()
	require.Equal(t, can, fixed.Verbs(fixed.Spec()), "without a say of its keys a type can do the same for all")
}
