package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A node draws from its own feeds, or from those of what it runs on, or from those of the first fed thing that it needs.
func TestSources(t *testing.T) {
	t.Parallel()
	e, err := NewEstate([]Node{
		{ID: "a", Kind: Supply},
		{ID: "b", Kind: Supply},
		{ID: "nas", FedBy: []string{"b"}},
		{ID: "one", Kind: Host, FedBy: []string{"a"}, DependsOn: []string{"nas"}},
		{ID: "two", Kind: Host, FedBy: []string{"a", "b"}, DependsOn: []string{"nas"}},
		{ID: "moved", Kind: VM, Host: "two", DependsOn: []string{"one"}},
		{ID: "vm", Kind: VM, DependsOn: []string{"nas", "one"}},
		{ID: "service", DependsOn: []string{"group"}},
		{ID: "group", DependsOn: []string{"nas", "two"}},
		{ID: "nothing"},
		{ID: "on nothing", DependsOn: []string{"nothing"}},
	}, nil)
	require.NoError(t, err)
	for id, want := range map[string][]string{
		"nas": {"b"}, "two": {"a", "b"}, "moved": {"a", "b"}, "vm": {"a"}, "service": {"a", "b"}, "nothing": nil, "on nothing": nil, "a": nil,
	} {
		i, _ := e.Index(id)
		var got []string
		for _, s := range e.Sources(i) {
			got = append(got, e.Node(s).ID)
		}
		require.Equal(t, want, got, id)
	}
}
