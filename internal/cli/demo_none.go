//go:build nodemo

package cli

import "github.com/spf13/cobra"

// demo says where the demo is: a build for servers carries no vSphere simulator (docs/adr/0023).
func (a *app) demo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", GroupID: "try", Short: "watch a whole outage (not in this build: it carries no simulated vSphere)",
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(*cobra.Command, []string) error {
			return fail(exitUsage, "in Ebbtide's sources: go run ./cmd/ebbtide demo; an outage of your own runbook, here: ebbtide "+
				"simulate RUNBOOK", "this build carries no demo")
		},
	}
}
