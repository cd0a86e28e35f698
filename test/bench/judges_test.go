package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPollsAreJudged has the judge of polls count what it should, and excuse only what the servers themselves were late.
func TestPollsAreJudged(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	judge := func(ticks []time.Time, hurried int, reads ...int) pollFigures {
		p := newPolls()
		p.ticks = ticks
		s := p.of("ups")
		if hurried > 0 {
			s.hurried = at(hurried)
		}
		for _, ms := range reads {
			s.at = append(s.at, at(ms))
		}
		return p.judge(began, at(reads[len(reads)-1]))
	}
	even := judge(nil, 0, 1000, 2000, 3000)
	require.Zero(t, even.missed)
	require.InDelta(t, 3, even.expected, 0.01)
	late := judge(nil, 0, 1000, 2900, 3900)
	require.Zero(t, late.missed, "late, and not missed")
	require.Equal(t, 1900*time.Millisecond, late.longest)
	require.InDelta(t, 2, judge(nil, 0, 1000, 4000).missed, 0.01)
	require.InDelta(t, 3, judge(nil, 1500, 1000, 2000, 3000).missed, 0.01, "on battery four are due in a second")
	require.Zero(t, judge(nil, 1500, 1000, 2000, 2250, 2700).missed)
	stood := []time.Time{at(900), at(920), at(2920), at(2940)} // the servers' own process stood still for two seconds
	require.Zero(t, judge(stood, 0, 1000, 4000).missed)
	require.InDelta(t, 2, judge(stood[:2], 0, 1000, 4000).missed, 0.01)
}

// TestOrderIsJudged has the judge of order find each breach of it.
func TestOrderIsJudged(t *testing.T) {
	t.Parallel()
	const host, app, db = "vc0-01", "app-vc0-00-00", "db-vc0-00-01"
	for name, c := range map[string]struct {
		story []happening
		want  string
	}{
		"in order": {[]happening{
			{what: "vm off", name: app},
			{what: "vm off", name: db},
			{what: "host off", name: host},
			{what: "cut", name: "ups000"},
			{what: "cut", name: "ups001"},
		}, ""},
		"db before app":   {[]happening{{what: "vm off", name: db}}, db + " is off while 1 VMs that need it are on"},
		"host before VMs": {[]happening{{what: "host off", name: host}}, "host " + host + " is off and takes 2 VMs along"},
		"cut before host": {[]happening{{what: "cut", name: "ups001"}}, "ups001 is cut while host " + host + " is on"},
		"twice":           {[]happening{{what: "vm off", name: app}, {what: "vm off", name: app}}, app + " vm off twice"},
		"started":         {[]happening{{what: "vm on", name: app}}, "vm on: " + app},
	} {
		f := &fleet{
			fleetSize: fleetSize{vCenters: 1, hosts: 1, apps: 1, dbs: 1}, t: t,
			hostOf: map[string]string{app: host, db: host}, story: c.story,
		}
		if c.want == "" {
			require.Empty(t, f.violations(), name)
		} else {
			require.Contains(t, f.violations(), c.want, name)
		}
	}
}
