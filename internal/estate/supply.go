package estate

import (
	"context"
	"fmt"

	"ebbtide/internal/nut"
	"ebbtide/internal/runbook"
)

// Server says how a supply's NUT server is reached. Credentials are for commands alone: reading needs none.
func (e *Estate) Server(s *runbook.SupplyDecl, commands bool) (nut.Options, error) {
	o := nut.Options{Address: s.Address}
	var err error
	if o.TLS, err = nut.Trust(s.TLS); err != nil {
		return o, fmt.Errorf("supply %q: %w", s.ID, err)
	}
	if commands && s.Username != "" {
		o.Username = s.Username
		o.Password = func() (string, error) { return e.secrets.Secret(s.Password) }
	}
	return o, nil
}

func cutting(s *runbook.SupplyDecl) nut.Cutting {
	return nut.Cutting{Way: s.Cut, Off: s.OffDelay, On: s.OnDelay}
}

// Examine asks a UPS what it says and what it offers of what the runbook wants of it.
func (e *Estate) Examine(ctx context.Context, s *runbook.SupplyDecl) (nut.Offer, error) {
	w := nut.Wants{Cutting: cutting(s)}
	for _, out := range e.Runbook.Outlets() {
		if out.Supply.ID == s.ID {
			w.Outlets = append(w.Outlets, out.Name)
		}
	}
	o, err := e.Server(s, false)
	if err != nil {
		return nut.Offer{}, err
	}
	offer, err := nut.Examine(ctx, o, s.UPS, w)
	offer.Reading.Supply = s.ID
	return offer, err
}

// VerifyUser asks a server whether it knows the user that a supply names, nil if it names none: upsd itself says so only at
// the first command, which would be the cut.
func (e *Estate) VerifyUser(ctx context.Context, s *runbook.SupplyDecl) error {
	if s.Username == "" {
		return nil
	}
	o, err := e.Server(s, true)
	if err != nil {
		return err
	}
	return nut.VerifyCredentials(ctx, o, s.UPS)
}
