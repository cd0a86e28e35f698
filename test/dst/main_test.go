package dst_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage be. Of a drawn night next to nothing stays, and all that is allocated is a few megabytes, so that
// a collection finds little to keep and costs a fifth of a campaign; what is in use never comes near the limit.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	debug.SetMemoryLimit(1 << 30)
	os.Exit(m.Run())
}
