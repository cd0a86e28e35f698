package array

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// TestPages checks the runbook of each page without a warning, and that a person finds there what to do.
func TestPages(t *testing.T) {
	schema := adapter.Schema([]adapter.Family{Family(), ssh.Family()})
	shown := map[string]bool{}
	for _, name := range []string{"truenas", "synology", "ontap", "unity", "nimble", "equallogic"} {
		text, err := os.ReadFile(filepath.Join("../../../docs/systems", name+".md"))
		require.NoError(t, err)
		_, after, found := strings.Cut(string(text), "```yaml\n")
		require.True(t, found, name)
		snippet, _, _ := strings.Cut(after, "```")
		rb, problems := runbook.Load(name+".yaml", []byte(snippet), schema)
		require.Empty(t, problems, problems.Text())
		for i := range rb.Nodes {
			n := &rb.Nodes[i]
			shown[n.Type] = true
			hand := rb.ProcedureOf(&schema, n)
			require.NotEmpty(t, hand.Do[plan.Stop], n.ID)
			require.NotEmpty(t, hand.Do[plan.Start], n.ID)
			require.NotEmpty(t, hand.Off, n.ID)
			require.NotEmpty(t, hand.On, n.ID)
			place := rb.EndpointOf(&schema, n.Via)
			require.Contains(t, place.Address, "10.0.0.", n.Via)
			require.Contains(t, place.SecretLocation, "credential", n.Via)
		}
	}
	for _, kind := range Family().Nodes {
		require.True(t, shown[kind.Name], "%s has no page", kind.Name)
	}
}

// What only its power brings back must not be left to anything else.
func TestCheckKnowsWhatOnlyItsPowerBringsBack(t *testing.T) {
	const book = `version: 1
runbook: nimble
supplies:
  ups: {nut: "ups@127.0.0.1:3493", username: u, password: {credential: upsd}, cut: CUT}
connections:
  nimble: {type: nimble, url: "https://10.0.0.80", username: ebbtide, password: {credential: nimble}}
nodes:
  nimble: {type: nimble.group, via: nimble, fed_by: [ups], off_when_unreachable: 90s, up: {WAKE healthy: [{tcp: "10.0.1.80:3260"}]}}
policy:
  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}
  restore: {when: {online: 10m}}
`
	schema := adapter.Schema([]adapter.Family{Family(), ssh.Family()})
	for _, tt := range []struct{ wake, cut, want string }{
		{"wake: {power: true},", "shutdown.return", ""},
		{"wake: {power: true},", "none", "ups is never cut"},
		{`wake: {mac: "00:25:90:ee:00:30"},`, "shutdown.return", "starts only when its power goes away and comes back"},
		{"", "shutdown.return", "nothing starts nimble again"},
	} {
		text := strings.NewReplacer("WAKE", tt.wake, "CUT", tt.cut).Replace(book)
		_, problems := runbook.Load("nimble.yaml", []byte(text), schema)
		require.False(t, problems.HasErrors(), problems.Text())
		if tt.want == "" {
			require.Empty(t, problems, problems.Text())
			continue
		}
		require.Contains(t, problems.Text(), tt.want)
	}
}

func TestCheckFindsMistakes(t *testing.T) {
	good := func() *ONTAPSpec { return &ONTAPSpec{Nodes: []string{"10.0.0.1", "filer-b:443"}} }
	require.Empty(t, good().mistakes())
	for want, nodes := range map[string][]string{
		"is named twice":    {"a", "a"},
		"is not an address": {"https://a"},
	} {
		s := good()
		s.Nodes = nodes
		require.ErrorContains(t, s.mistakes()[0], want)
	}
	require.ErrorContains(t, (&EqualLogicSpec{Members: []string{"a; shutdown"}}).mistakes()[0], "is not the name of a member")
	for want, url := range map[string]string{
		"not of the form https": "http://10.0.0.1",
		"holds a user":          "https://admin:" + planted + "@10.0.0.1",
		"more than an address":  "https://10.0.0.1/api",
	} {
		err := (&NimbleConn{Account: account, Server: serverAt(strings.ReplaceAll(url, " ", "-"))}).mistakes()[0]
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "horse")
	}
	require.ErrorContains(t, (&TrueNASConn{Server: serverAt("https://a"), API: "soap"}).mistakes()[0], "neither websocket")
}
