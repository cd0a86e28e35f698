package adapter

import (
	"fmt"

	"ebbtide/internal/schema"
)

// Connecting makes the Connect of a family with one type of connection, whose keys are S. What connect returns with an error is dropped.
// It is an error if the declaration is of another type, which the decoder does not let through.
func Connecting[S any, C Conn](
	connect func(name string, spec *S, secrets Secrets) (C, error),
) func(schema.Connection, Secrets) (Conn, error) {
	return func(d schema.Connection, secrets Secrets) (Conn, error) {
		spec, ok := d.Spec.(*S)
		if !ok {
			return nil, fmt.Errorf("its spec is a %T", d.Spec)
		}
		c, err := connect(d.Name, spec, secrets)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

// Via gives the connection that a node names by via, where it can be reached through C alone. Types names that in the runbook's words:
// "ssh", "winrm or ssh". It is an error, for who wrote the runbook, if it can't.
func Via[C any](conn Conn, types string) (C, error) {
	c, ok := conn.(C)
	if !ok {
		return c, fmt.Errorf("via must name a connection of type %s", types)
	}
	return c, nil
}
