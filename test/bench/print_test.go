package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/test/site"
)

// TestPrintTime measures how long the run book of 1,000 VMs takes to print, as the built program does it.
func TestPrintTime(t *testing.T) {
	wanted(t)
	var b strings.Builder
	b.WriteString("version: 1\nrunbook: thousand\nsupplies:\n  ups: {nut: \"ups@127.0.0.1:3493\"}\nconnections:\n")
	b.WriteString("  vc: {type: vsphere, url: \"https://10.0.0.10/sdk\", username: a, password: {credential: a}, thumbprint: \"" +
		strings.Repeat("4F", 32) + "\"}\nnodes:\n")
	for h := range 20 {
		fmt.Fprintf(&b, "  host%02d: {type: vsphere.host, via: vc, fed_by: [ups]}\n", h)
	}
	for v := range 1000 {
		fmt.Fprintf(&b, "  vm-%04d: {type: vsphere.vm, via: vc, depends_on: [host%02d]}\n", v, v%20)
	}
	b.WriteString("policy:\n  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}\n")
	dir := t.TempDir()
	file := filepath.Join(dir, "thousand.yaml")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	program, began := binary(t), time.Now()
	_, errs, code := site.Run(t, program, "print", file, "-o", filepath.Join(dir, "book.pdf"))
	took := time.Since(began).Seconds()
	require.Zero(t, code, errs)
	figure{
		Figure: "print_1000_vms", Value: took, Unit: "s", Target: "<= 5", OK: took <= 5, Runs: 1,
		Note: "print -o book.pdf, with the start of the program",
	}.print(t)
}
