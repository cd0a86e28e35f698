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
	s := newSite(t, nil)
	settings := s.files(true)
	start(t, settings)
	s.ready()
	s.setMains(false)
	s.until("cut", 60*time.Second, func() bool { return s.at("ups output off") >= 0 })
	st, ok := s.status()
	require.True(t, ok)
	require.NotEmpty(t, st.View.Outage)
	require.True(t, s.estateOff(), "everything is off at the cut: %s", strings.Join(s.told(), "\n"))
	s.setMains(true)
	s.untilRestored(90 * time.Second)
	s.requireOrderDown()
	s.requireOrderUp()
	require.Equal(t, 1, count(s.told(), "ups INSTCMD shutdown.return"))
	require.NotContains(t, strings.Join(s.told(), "\n"), "load.off")
	require.False(t, s.vs.VMOn("spare"), "what was off stays off")
	out, _, code := run(t, "journal", "verify", filepath.Join(s.dir, "journal.db"))
	require.NotZero(t, code, "the daemon holds its journal: %s", out)
}

// untilRestored waits until the daemon has closed the outage.
func (s *site) untilRestored(within time.Duration) {
	s.t.Helper()
	s.until("end of the outage", within, func() bool {
		st, ok := s.status()
		return ok && st.View.Outage == "" && s.vs.VMOn("db") && s.vs.VMOn("app1") && s.vs.VMOn("app2") && s.vs.VMOn("lab1") && s.vs.VMOn("lab2")
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
func (s *site) requireBefore(events ...string) {
	s.t.Helper()
	story := s.told()
	last := -1
	for _, e := range events {
		at := slices.Index(story, e)
		require.GreaterOrEqual(s.t, at, 0, "%q is missing in:\n%s", e, strings.Join(story, "\n"))
		require.Greater(s.t, at, last, "%q comes too early in:\n%s", e, strings.Join(story, "\n"))
		last = at
	}
}

func (s *site) requireOrderDown() {
	s.t.Helper()
	for _, app := range []string{"vm app1 off", "vm app2 off"} {
		s.requireBefore("mains off", "nas protect", app, "vm db off", "host esx01 off", "nas flush", "nas stop", "nas off", "ups INSTCMD shutdown.return", "ups output off")
	}
	for _, lab := range []string{"vm lab1 off", "vm lab2 off"} {
		s.requireBefore("nas protect", lab, "vm db off", "nas flush")
	}
	s.requireBefore("vm app2 off", "host esx02 off", "nas flush")
}

func (s *site) requireOrderUp() {
	s.t.Helper()
	for _, app := range []string{"vm app1 on", "vm app2 on"} {
		s.requireBefore("mains on", "ups output on", "vm db on", app)
	}
	for _, vm := range []string{"vm lab1 on", "vm lab2 on"} {
		s.requireBefore("host esx01 on", vm)
		s.requireBefore("host esx02 on", vm)
	}
	require.Positive(s.t, s.at("nas unprotect"), "the cache is write-back again")
}
