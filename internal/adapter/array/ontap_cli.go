package array

import (
	"context"
	"fmt"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/schema"
)

// The command lines of ONTAP, which is no shell. Each is fixed, so that nothing needs to be quoted for it. Takeover is
// inhibited, quorum is not asked for, and no interfaces are moved to nodes that are halted as well.
const (
	haltLine = "set -confirmations off; system node halt -node * -inhibit-takeover true -ignore-quorum-warnings true " +
		"-skip-lif-migration-before-shutdown true"
	showLine = "system node show -fields health"
)

// ontapCLI speaks the command line over SSH.
type ontapCLI struct{ conn *ssh.Conn }

// run runs a command line. Errors are told in its output: the exit status of an ONTAP is 0 all the same.
func (o ontapCLI) run(ctx context.Context, line string) (string, error) {
	res, err := o.conn.Run(ctx, schema.Command{Line: line}, "")
	if err != nil {
		return "", err
	}
	for text := range strings.Lines(res.Stdout + "\n" + res.Stderr) {
		text = strings.TrimSpace(text)
		if res.Code == 0 && !strings.HasPrefix(text, "Error:") || text == "" {
			continue
		}
		hint := ""
		if strings.Contains(text, "not a recognized command") {
			hint = "; the role of " + o.conn.User() + " may lack it"
		}
		return "", fmt.Errorf("%w: it says %q%s", adapter.ErrRefused, printable.Text(text, 200), hint)
	}
	return res.Stdout, nil
}

// nodes reads a table of two columns: the node, and whether it is healthy.
func (o ontapCLI) nodes(ctx context.Context) ([]ontapNode, error) {
	out, err := o.run(ctx, showLine)
	if err != nil {
		return nil, err
	}
	var nodes []ontapNode
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 2 || f[1] != "true" && f[1] != "false" {
			continue
		}
		state := "up"
		if f[1] == "false" {
			state = "down"
		}
		nodes = append(nodes, ontapNode{Name: f[0], State: state})
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: it lists no nodes for %q: %q", adapter.ErrRefused, showLine, printable.Text(out, 100))
	}
	return nodes, nil
}

func (o ontapCLI) halt(ctx context.Context) error {
	_, err := o.run(ctx, haltLine)
	return err
}
