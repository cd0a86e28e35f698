package families_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
)

// What a program drives may be a plug, unless it is said to be storage.
func TestWhatMaySwitchPower(t *testing.T) {
	rb, problems := runbook.Load("switches.yaml", []byte(`version: 1
runbook: switches
supplies:
  ups: {nut: "ups@127.0.0.1:1"}
nodes:
  plug: {type: command, fed_by: [ups], probe: [look], stop: [off], start: [on]}
  nas: {type: command, fed_by: [ups], probe: [look], stop: [off], risk: storage}
  box: {type: command, depends_on: [plug], probe: [look], stop: [off], start: [on]}
policy:
  shutdown: {when: {on_battery: 1m}}
  restore: {when: {online: 1m}}
`), families.Schema())
	require.False(t, problems.HasErrors(), problems.Text())
	compiled, err := runbook.Compile(rb, families.Schema(), nil)
	require.NoError(t, err)
	switches := map[string]bool{}
	for i := range compiled.Estate.Len() {
		n := compiled.Estate.Node(i)
		switches[n.ID] = n.Switches
	}
	require.Equal(t, map[string]bool{"ups": false, "plug": true, "nas": false, "box": true}, switches)
}
