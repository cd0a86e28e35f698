// Package effect stands in the place of today's when the old engine does: that one's effects are its own.
package effect

import "ebbtide/internal/engine"

type (
	Effect   = engine.Effect
	Append   = engine.Append
	Do       = engine.Do
	Probe    = engine.Probe
	Cancel   = engine.Cancel
	Wake     = engine.Wake
	Estimate = engine.Estimate
	Notify   = engine.Notify
	Underway = engine.Underway
)
