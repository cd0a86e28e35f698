package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"ebbtide/internal/adapter"
)

// How long a dial may take, whoever waits for it.
const (
	connectWithin   = 5 * time.Second
	handshakeWithin = 15 * time.Second
)

// how a host could not be reached: it makes the difference between a proof and none.
type how uint8

const (
	silent    how = iota // nothing came back at all
	refused              // the connection was refused: by a machine that runs, as a rule
	answering            // it was there, and the SSH server did not do its part
	local                // the question did not leave this machine: no route, no such name
)

// unreached says that a host could not be asked. No command was given to it.
type unreached struct {
	address string
	how     how
	err     error
}

func (e *unreached) Error() string {
	text := fmt.Sprintf("cannot reach %s: %v", e.address, e.err)
	if e.how == refused {
		text += "; the machine runs, its SSH server does not"
	}
	return text
}

func (e *unreached) Unwrap() []error { return []error{adapter.ErrUnreachable, e.err} }

// login connects and logs in.
func (c *Conn) login(d *dialing) (*ssh.Client, error) {
	config, hint, err := c.config()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, connectWithin)
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
	cancel()
	if err != nil {
		return nil, &unreached{c.address, classify(err), err}
	}
	d.mu.Lock()
	d.heard = true
	d.mu.Unlock()
	stop := context.AfterFunc(c.ctx, func() { _ = raw.Close() })
	defer stop()
	if err := raw.SetDeadline(time.Now().Add(handshakeWithin)); err != nil {
		_ = raw.Close()
		return nil, &unreached{c.address, answering, err}
	}
	transport, channels, requests, err := ssh.NewClientConn(raw, c.address, config)
	if err != nil {
		_ = raw.Close()
		return nil, c.explain(err, hint)
	}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		_ = transport.Close()
		return nil, &unreached{c.address, answering, err}
	}
	return ssh.NewClient(transport, channels, requests), nil
}

func classify(err error) how {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.EHOSTDOWN):
		return silent // nobody on the network has the address
	case isName(err):
		return local
	case errors.As(err, &timeout) && timeout.Timeout():
		return silent
	}
	return local
}

func isName(err error) bool {
	var name *net.DNSError
	return errors.As(err, &name)
}

// config reads the secrets anew for each login. hint tells what to do if the host does not let us in.
func (c *Conn) config() (config *ssh.ClientConfig, hint string, err error) {
	check, algorithms, err := hostKeys(&c.spec, c.address)
	if err != nil {
		return nil, "", fmt.Errorf("cannot log in to %s: %w: %w", c.address, adapter.ErrRefused, err)
	}
	auth, hint, err := c.auth()
	if err != nil {
		return nil, "", fmt.Errorf("cannot log in to %s as %q: %w: %w", c.address, c.spec.User, adapter.ErrRefused, err)
	}
	return &ssh.ClientConfig{
		User: c.spec.User, Auth: auth, HostKeyCallback: check, HostKeyAlgorithms: algorithms,
		ClientVersion: "SSH-2.0-Ebbtide",
	}, hint, nil
}

func (c *Conn) auth() ([]ssh.AuthMethod, string, error) {
	if !c.spec.Password.IsZero() {
		password, err := c.secrets.Secret(c.spec.Password)
		if err != nil {
			return nil, "", err
		}
		answer := func(_, _ string, questions []string, _ []bool) ([]string, error) {
			answers := make([]string, len(questions))
			for i := range answers {
				answers[i] = password
			}
			return answers, nil
		}
		return []ssh.AuthMethod{ssh.Password(password), ssh.KeyboardInteractive(answer)},
			"check the user and the password, and that the server takes passwords", nil
	}
	pem, err := c.secrets.Secret(c.spec.Key)
	if err != nil {
		return nil, "", err
	}
	signer, err := ssh.ParsePrivateKey([]byte(pem))
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, "", errors.New(`the key is locked by a passphrase, and at night there is nobody to type it: unlock it with "ssh-keygen -p", and keep it as a credential`)
	case err != nil:
		return nil, "", errors.New("the key is not a private key in PEM or OpenSSH form")
	}
	hint := fmt.Sprintf("put the public key of %s into that user's authorized_keys", ssh.FingerprintSHA256(signer.PublicKey()))
	return []ssh.AuthMethod{ssh.PublicKeys(signer)}, hint, nil
}

// explain turns a failed handshake into what it means.
func (c *Conn) explain(err error, hint string) error {
	var wrong *wrongHostKey
	var revoked *knownhosts.RevokedError
	var differ *ssh.AlgorithmNegotiationError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("cannot log in to %s: %w", c.address, wrong)
	case errors.As(err, &revoked):
		return fmt.Errorf("cannot log in to %s: %w: its host key is revoked in %s", c.address, adapter.ErrRefused, c.spec.KnownHosts)
	case errors.As(err, &differ):
		return fmt.Errorf("cannot log in to %s: %w: %w; the host may have no key of the type that is expected of it", c.address, adapter.ErrRefused, differ)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return fmt.Errorf("cannot log in to %s as %q: %w: it does not let us in; %s", c.address, c.spec.User, adapter.ErrRefused, hint)
	}
	return &unreached{c.address, answering, err}
}

// Silent tells whether nothing came back from the host at all, not even a refusal.
func (e *unreached) Silent() bool { return e.how == silent }
