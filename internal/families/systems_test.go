package families_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
)

// around makes a whole runbook of what a page shows from its connections on.
const around = `version: 1
runbook: page
supplies:
  ups: {nut: ups@127.0.0.1, cut: none}
%spolicy:
  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}
  restore: {when: {online: 10m}}
`

// TestSystemsPages checks and compiles what docs/systems shows: whole runbooks, and those parts that begin with their
// connections. People copy from there: it has no warnings either.
func TestSystemsPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/systems/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			checked := 0
			for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
				source, _, closed := strings.Cut(block, "```")
				require.True(t, closed)
				switch {
				case strings.HasPrefix(source, "version:"):
				case strings.HasPrefix(source, "connections:"):
					source = fmt.Sprintf(around, source)
				default:
					continue // a line or two of one
				}
				checked++
				rb, problems := runbook.Load(filepath.Base(page), []byte(source), families.Schema())
				require.Empty(t, problems.Text())
				_, err := runbook.Compile(rb, families.Schema(), nil)
				require.NoError(t, err)
			}
			require.NotZero(t, checked, "it shows no runbook")
		})
	}
}

// What must be on for something else is found by what both are reached through.
func TestCheckKnowsWhatStandsOnWhat(t *testing.T) {
	t.Parallel()
	const host = `connections:
  kvm1: {type: ssh, address: 10.0.0.11, user: ebbtide, key: {credential: kvm}, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Ib3m2lO7lGQd5yP9v0cZ8mC3eR6tXkNw4uF2hYsAB"}
  other: {type: ssh, address: 10.0.0.12, user: ebbtide, key: {credential: kvm}, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Ib3m2lO7lGQd5yP9v0cZ8mC3eR6tXkNw4uF2hYsAB"}
  vms1: {type: libvirt, ssh: kvm1}
  kube: {type: kubernetes, url: "https://10.0.0.50:6443", token: {credential: kube}}
nodes:
  kvm1: {type: ssh, via: kvm1, fed_by: [ups], stop: [poweroff], off_when_unreachable: 45s, up: {wake: {mac: "00:25:90:ab:cd:01"}}}
  other: {type: ssh, via: other, fed_by: [ups], stop: [poweroff], off_when_unreachable: 45s, up: {wake: {mac: "00:25:90:ab:cd:02"}}}
`
	for node, warning := range map[string]string{
		"dns: {type: libvirt.domain, via: vms1, depends_on: [kvm1]}":                 "",
		"dns: {type: libvirt.domain, via: vms1, depends_on: [other]}":                "dns depends on no host",
		"dns: {type: libvirt.domain, via: vms1, fed_by: [ups]}":                      "dns depends on no host",
		"worker1: {type: kubernetes.node, via: kube, depends_on: [kvm1]}":            "",
		"worker1: {type: kubernetes.node, via: kube, fed_by: [ups]}":                 "worker1 depends on nothing",
		"worker1: {type: kubernetes.node, via: kube, depends_on: [], fed_by: [ups]}": "worker1 depends on nothing",
	} {
		_, problems := runbook.Load("page.md", fmt.Appendf(nil, around, host+"  "+node+"\n"), families.Schema())
		require.False(t, problems.HasErrors(), problems.Text())
		if warning == "" {
			require.Empty(t, problems.Text(), node)
		} else {
			require.Contains(t, problems.Text(), warning, node)
		}
	}
}
