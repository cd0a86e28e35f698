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
	"ebbtide/internal/adapter/reach"
)

// How long a dial may take, whoever waits for it.
const (
	connectWithin   = 5 * time.Second
	handshakeWithin = 15 * time.Second
)

// login connects and logs in.
func (c *Conn) login(d *dialing) (*ssh.Client, error) {
	if err := c.lockout.Locked(); err != nil {
		return nil, err
	}
	config, hint, err := c.config()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, connectWithin)
	dialer := net.Dialer{Control: func(string, string, syscall.RawConn) error { // called when its name has an address
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sought = true
		return nil
	}}
	raw, err := dialer.DialContext(ctx, "tcp", c.address)
	cancel()
	if err != nil {
		return nil, reach.New(c.address, reach.Classify(err), err)
	}
	d.mu.Lock()
	d.accepted = true
	d.mu.Unlock()
	stop := context.AfterFunc(c.ctx, func() { _ = raw.Close() })
	defer stop()
	if err := raw.SetDeadline(time.Now().Add(handshakeWithin)); err != nil {
		_ = raw.Close()
		return nil, reach.New(c.address, reach.Answering, err)
	}
	transport, channels, requests, err := ssh.NewClientConn(raw, c.address, config)
	if err != nil {
		_ = raw.Close()
		return nil, c.explain(err, hint)
	}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		_ = transport.Close()
		return nil, reach.New(c.address, reach.Answering, err)
	}
	c.lockout.Accepted()
	return ssh.NewClient(transport, channels, requests), nil
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
		return nil, "", errors.New(`the key is protected by a passphrase, and during an outage nobody may be there to type it: unlock it with "ssh-keygen -p", and keep it as a credential`)
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
		return fmt.Errorf("cannot log in to %s: %w: %w; the host may have no key of the type that is expected of it", c.address,
			adapter.ErrRefused, differ)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return c.lockout.Refused(fmt.Errorf("cannot log in to %s as %q: %w: access denied; %s", c.address, c.spec.User, adapter.ErrRefused, hint))
	}
	return reach.New(c.address, reach.Answering, err)
}
