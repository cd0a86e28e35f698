package e2e_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAWholeOutageAndBack is the main job: mains fail, the estate goes down in order, its output is cut, mains return,
// and exactly what was on comes back.
func TestAWholeOutageAndBack(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(true)
	start(t, settings)
	s.Ready()
	s.SetMains(false)
	s.Until("cut", 60*time.Second, func() bool { return s.At("ups output off") >= 0 })
	st, ok := s.Status()
	require.True(t, ok)
	require.NotEmpty(t, st.View.Outage)
	require.True(t, s.EstateOff(), "everything is off at the cut: %s", strings.Join(s.Told(), "\n"))
	s.SetMains(true)
	s.untilRestored(90 * time.Second)
	s.requireOrderDown()
	s.requireOrderUp()
	require.Equal(t, 1, count(s.Told(), "ups INSTCMD shutdown.return"))
	require.NotContains(t, strings.Join(s.Told(), "\n"), "load.off")
	require.False(t, s.VSphere.VMOn("spare"), "what was off stays off")
	out, _, code := run(t, "journal", "verify", filepath.Join(s.Dir, "journal.db"))
	require.NotZero(t, code, "the daemon holds its journal: %s", out)
}

// untilRestored waits until the daemon has closed the outage.
func (s *room) untilRestored(within time.Duration) {
	s.t.Helper()
	s.Until("end of the outage", within, func() bool {
		st, ok := s.Status()
		return ok && st.View.Outage == "" && s.VSphere.VMOn("db") && s.VSphere.VMOn("app1") && s.VSphere.VMOn("app2") &&
			s.VSphere.VMOn("lab1") && s.VSphere.VMOn("lab2")
	})
}

func count(lines []string, what string) int {
	n := 0
	for _, l := range lines {
		if l == what {
			n++
		}
	}
	return n
}

// requireBefore asserts that events stand in the story in the order given, each once or more, by their first time.
func (s *room) requireBefore(events ...string) {
	s.t.Helper()
	story := s.Told()
	last := -1
	for _, e := range events {
		at := slices.Index(story, e)
		require.GreaterOrEqual(s.t, at, 0, "%q is missing in:\n%s", e, strings.Join(story, "\n"))
		require.Greater(s.t, at, last, "%q comes too early in:\n%s", e, strings.Join(story, "\n"))
		last = at
	}
}

func (s *room) requireOrderDown() {
	s.t.Helper()
	for _, app := range []string{"vm app1 off", "vm app2 off"} {
		s.requireBefore("mains off", "nas protect", app, "vm db off", "host esx01 off", "nas flush", "nas stop", "nas off",
			"ups INSTCMD shutdown.return", "ups output off")
	}
	for _, lab := range []string{"vm lab1 off", "vm lab2 off"} {
		s.requireBefore("nas protect", lab, "vm db off", "nas flush")
	}
	s.requireBefore("vm app2 off", "host esx02 off", "nas flush")
}

func (s *room) requireOrderUp() {
	s.t.Helper()
	for _, app := range []string{"vm app1 on", "vm app2 on"} {
		s.requireBefore("mains on", "ups output on", "vm db on", app)
	}
	for _, vm := range []string{"vm lab1 on", "vm lab2 on"} {
		s.requireBefore("host esx01 on", vm)
		s.requireBefore("host esx02 on", vm)
	}
	require.Positive(s.t, s.At("nas unprotect"), "the cache is write-back again")
}
