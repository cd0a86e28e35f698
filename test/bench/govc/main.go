// Command govc is VMware's own command line with the few commands that the figures are measured against. It is a module
// of its own, since govmomi's is not published as one that can be installed, and needs what Ebbtide does not.
package main

import (
	"os"

	"github.com/vmware/govmomi/cli"
	_ "github.com/vmware/govmomi/cli/vm"
)

func main() { os.Exit(cli.Run(os.Args[1:])) }
