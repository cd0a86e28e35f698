package cache

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/schema"
)

// host is where a cache is.
type host struct{ conn *ssh.Conn }

// run runs a command as the user of the connection. Its exit status is for the caller to judge.
func (h host) run(ctx context.Context, argv ...string) (process.Result, error) {
	return h.conn.Run(ctx, schema.Command{Argv: argv}, "")
}

// tool runs a program as the user of the connection that is found where root finds it: a login over SSH looks in no sbin, as Debian has it.
func (h host) tool(ctx context.Context, argv ...string) (process.Result, error) {
	return h.run(ctx, append([]string{"sh", "-c", `PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; exec "$@"`, "sh"}, argv...)...)
}

// root runs a command as root.
func (h host) root(ctx context.Context, argv ...string) (process.Result, error) {
	return h.write(ctx, "", argv...)
}

// write runs a command as root, with text as its input.
func (h host) write(ctx context.Context, text string, argv ...string) (process.Result, error) {
	if h.conn.User() != "root" {
		argv = append([]string{"sudo", "-n"}, argv...)
	}
	res, err := h.conn.Run(ctx, schema.Command{Argv: argv}, text)
	if err == nil && res.Code != 0 && strings.HasPrefix(res.Stderr, "sudo: ") {
		return res, fmt.Errorf("%w: %s; let %s run %q by sudo without a password", adapter.ErrRefused,
			said(res), h.conn.User(), strings.Join(argv[2:], " "))
	}
	return res, err
}

// must runs a command as root that has to exit with 0, and gives what it printed.
func (h host) must(ctx context.Context, argv ...string) (string, error) {
	res, err := h.root(ctx, argv...)
	if err != nil {
		return "", err
	}
	if res.Code != 0 {
		return "", refused(argv, res)
	}
	return res.Stdout, nil
}

// refused is the error of a command that ran and said no.
func refused(argv []string, res process.Result) error {
	if res.Code == 127 {
		return fmt.Errorf("%w: there is no %s on the host; install it", adapter.ErrRefused, argv[0])
	}
	return fmt.Errorf("%w: %q exited with %d and said %q", adapter.ErrRefused, strings.Join(argv, " "), res.Code, said(res))
}

// said gives the first line that a command complained with.
func said(res process.Result) string {
	text := cmp.Or(strings.TrimSpace(res.Stderr), strings.TrimSpace(res.Stdout))
	line, _, _ := strings.Cut(text, "\n")
	return printable.Text(strings.TrimSpace(line), 200)
}
