// Package foresight stands in the place of today's when the old engine does: that one's estimates are its own.
package foresight

import "ebbtide/internal/engine"

type (
	Estimate  = engine.Estimated
	StageNeed = engine.StageNeed
	Critical  = engine.Critical
)
