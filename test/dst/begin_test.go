package dst_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

// mostSeeds bounds a first seed, so that people can read it.
const mostSeeds = 1_000_000_000

// begin gives the first seed, and where it is from: each commit plays seeds of its own, so that time finds what one set of
// seeds does not have, and the same commit plays the same.
func begin(t *testing.T) (first uint64, why string) {
	switch {
	case *from != 0:
		return *from, "asked for"
	case *random:
		return 1 + rand.Uint64N(mostSeeds), "at random"
	}
	revision, where := commit(t)
	sum := sha256.Sum256([]byte(revision))
	return 1 + binary.BigEndian.Uint64(sum[:])%mostSeeds, "from " + where
}

// commit names the commit that is tested, as far as anybody knows.
func commit(t *testing.T) (revision, where string) {
	out, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if revision = strings.TrimSpace(string(out)); err == nil && revision != "" {
		return revision, "commit " + revision
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value, "commit " + s.Value
			}
		}
	}
	return "", "no commit: none is known"
}
