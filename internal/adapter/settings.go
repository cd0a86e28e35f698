package adapter

import "context"

type settingsKey struct{}

// WithSettings gives Do(Unprotect) what it is to put back: the Settings that a probe saw before Protect, as the journal has
// them. They go with the context so that no decorator has to know of them.
func WithSettings(ctx context.Context, settings string) context.Context {
	if settings == "" {
		return ctx
	}
	return context.WithValue(ctx, settingsKey{}, settings)
}

// Settings is what a Do is to put back; "" if nothing is known of it: then Unprotect sets what is usual for the system.
func Settings(ctx context.Context) string {
	s, _ := ctx.Value(settingsKey{}).(string)
	return s
}
