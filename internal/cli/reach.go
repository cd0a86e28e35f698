package cli

import (
	"crypto/tls"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
)

// reach is how a command finds the daemon.
type reach struct {
	config, listen, tokenFile, caFile string
}

func (r *reach) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.config, "config", "", "the daemon's settings file: says where it listens and which certificate it presents")
	c.Flags().StringVar(&r.listen, "listen", "", "where the daemon listens: unix:PATH, HOST:PORT or https://HOST:PORT (default "+
		"unix:/run/ebbtide/ebbtide.sock)")
	c.Flags().StringVar(&r.tokenFile, "token-file", "", "file that holds the token, for a daemon on TCP")
	c.Flags().StringVar(&r.caFile, "ca-file", "", "PEM file of the CAs to trust for a daemon on HTTPS, or its own certificate (default: "+
		"the system's CAs)")
}

func (r *reach) client() (*daemon.Client, error) {
	flags := map[string]string{}
	if r.listen != "" {
		flags["listen"] = r.listen
	}
	listen, certificate, err := config.LoadListen(r.config, flags)
	if err != nil {
		return nil, fail(exitUsage, "use --listen unix:PATH, --listen 127.0.0.1:PORT or --listen https://HOST:PORT", "%w", err)
	}
	token := ""
	if r.tokenFile != "" {
		b, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return nil, fail(exitUsage, "give --token-file a file that holds only the token", "cannot read the token: %w", err)
		}
		token = strings.TrimSpace(string(b))
	}
	trust, err := r.trust(listen, certificate)
	if err != nil {
		return nil, fail(exitUsage, "give --ca-file a PEM file with the CAs to trust, or with the daemon's own certificate", "%w", err)
	}
	return daemon.NewClient(dialled(listen), token, trust), nil
}

// trust says which certificate is believed; nil: one that the system's authorities vouch for.
func (r *reach) trust(listen config.Listen, certificate string) (*tls.Config, error) {
	switch {
	case !listen.TLS:
		return nil, nil //nolint:nilnil // nothing is to be trusted
	case r.caFile != "":
		return daemon.Trusting(r.caFile)
	case certificate != "":
		return daemon.Pinning(certificate)
	}
	return nil, nil //nolint:nilnil // the system's
}

// dialled gives the address to dial for one that is listened on: a daemon on all addresses is on loopback too.
func dialled(l config.Listen) config.Listen {
	host, port, err := net.SplitHostPort(l.Address)
	if ip := net.ParseIP(host); err == nil && l.Network == "tcp" && (host == "" || ip != nil && ip.IsUnspecified()) {
		l.Address = net.JoinHostPort("localhost", port)
	}
	return l
}
