package runbook_test

import (
	"fmt"
	"strings"
	"testing"

	"ebbtide/internal/runbook"

	"github.com/stretchr/testify/require"
)

// generate writes a runbook of n nodes as a large site has them: hosts, storage, and VMs in tiers, of which each
// depends on a host, on storage and on one or more of the tier below; half in flow style, half in block style.
func generate(n int) []byte {
	var b strings.Builder
	b.WriteString("version: 1\nrunbook: large\nsupplies:\n")
	b.WriteString("  ups-a: {nut: ups-a@127.0.0.1, cut: none}\n  ups-b: {nut: ups-b@127.0.0.1, cut: none}\n")
	b.WriteString("connections:\n  vc: {type: vsphere, url: \"https://10.0.0.10\", username: root, password: {credential: vc}}\n")
	b.WriteString("  nas: {type: ssh, address: 10.0.0.30, user: root, host_key: k}\nnodes:\n")
	hosts, storage := max(1, n/50), max(1, n/200)
	for i := range storage {
		fmt.Fprintf(&b, "  nas%d: {type: ssh, via: nas, stop: [poweroff], start: [on], fed_by: [ups-a, ups-b]}\n", i)
	}
	for i := range hosts {
		fmt.Fprintf(&b, "  esx%d:\n    type: vsphere.host\n    via: vc\n    fed_by: [ups-a, ups-b]\n    depends_on: [nas%d]\n    up: "+
			"{wake: {mac: \"00:25:90:ab:cd:ef\"}, within: 15m}\n", i, i%storage)
	}
	vms := max(0, n-hosts-storage)
	tier := max(1, vms/4)
	for i := range vms {
		deps := fmt.Sprintf("esx%d, nas%d", i%hosts, i%storage)
		if i >= tier {
			deps += fmt.Sprintf(", vm%d", i-tier)
		}
		if i >= 2*tier {
			deps += ", tier=t0"
		}
		if i%2 == 0 {
			fmt.Fprintf(&b, "  vm%d: {type: vsphere.vm, via: vc, depends_on: [%s], labels: {tier: t%d}, risk: application, down: "+
				"{within: 4m}}\n", i, deps, i/tier)
		} else {
			fmt.Fprintf(&b, "  vm%d:\n    type: vsphere.vm\n    via: vc\n    depends_on: [%s]\n    labels: {tier: t%d}\n    risk: "+
				"database\n    down:\n      within: 4m\n", i, deps, i/tier)
		}
	}
	b.WriteString("policy:\n  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}\n  limits: {vsphere.vm: {total: 60, " +
		"per_host: 8}}\n")
	return []byte(b.String())
}

// BenchmarkLoadAndCompile is parse, check and compile of a 10,000-node runbook: at most 1 s.
func BenchmarkLoadAndCompile(b *testing.B) {
	src, schema := generate(10_000), testSchema()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		rb, problems := runbook.Load("large.yaml", src, schema)
		require.Empty(b, problems)
		compiled, err := runbook.Compile(rb, schema, nil)
		require.NoError(b, err)
		require.Equal(b, 10_003, compiled.Estate.Len())
	}
}

func BenchmarkParse(b *testing.B) {
	src, schema := generate(10_000), testSchema()
	for b.Loop() {
		runbook.Parse("large.yaml", src, schema)
	}
}
