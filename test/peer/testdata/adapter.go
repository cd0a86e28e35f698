package engine

import "errors"

// WeighsSlack reports that slack may decide: the old engine weighs it with every estimate.
func (e *Engine) WeighsSlack() bool { return true }

var errUnchecked = errors.New("the old engine can't be held against its own records")

// Replay is asked of an engine that is held against its own records, which no night here is.
func (e *Engine) Replay(Record) error { return errUnchecked }

// Check is asked beside Replay.
func (e *Engine) Check(*Engine) error { return errUnchecked }
