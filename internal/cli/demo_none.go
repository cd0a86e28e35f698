//go:build nodemo

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// demo says where the demo is: a build for servers carries no vSphere simulator (docs/adr/0023).
func (a *app) demo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", GroupID: "try", Short: "watch a whole outage (not in this build: it carries no simulated vSphere)", DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return fail(exitUsage, "in Ebbtide's sources: go run ./cmd/ebbtide demo; an outage of your own runbook, here: ebbtide simulate RUNBOOK", "cannot play the demo: %w",
				errors.New("this build has none"))
		},
	}
}
