// Package crash_test kills the daemon for real: the binary that ships, on a site of real peers, gets a SIGKILL after a
// record of an outage, is started again and left to finish. What came of it is judged from the peers' side: the same
// end as without the kill, nothing stopped or started again that had settled, no rule broken.
package crash_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/journal"
	"ebbtide/test/site"
)

var (
	whole  = flag.Bool("whole", false, "kill after every record, and twice, instead of after a sample")
	binary string
)

// together is how many sites run at a time: they mostly wait.
const together = "8"

func TestMain(m *testing.M) {
	if daemon := os.Getenv(become); daemon != "" {
		becomeDaemon(daemon)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "ebbtide-crash")
	if err != nil {
		panic(err)
	}
	code := 1
	if binary, err = site.Build(dir); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// end is how an outage has left the site.
type end struct {
	on               []string
	protected, dirty string
	closed           string // the reason of the journal's last record
	outages          int
	forgotten        int // nodes that the journal says were not brought back
}

// room is a site on which one outage is played.
type room struct {
	*site.Site
	t        *testing.T
	settings string
	began    time.Time
}

// fail makes a site with a daemon that is killed by may, and takes its mains away; they come back by themselves when
// the output is cut.
func fail(t *testing.T, may func(r *room) bool) (*room, *site.Process) {
	t.Helper()
	r := &room{Site: site.New(t, site.Options{Return: true}), t: t}
	r.settings = r.Files(true)
	p := startUnder(t, site.Daemon(binary, r.settings), func() bool { return may(r) })
	r.Ready()
	r.began = time.Now()
	r.SetMains(false)
	return r, p
}

// finish waits until the outage is over and the daemon knows the estate again.
func (r *room) finish() {
	r.t.Helper()
	r.Until("end of the outage", 120*time.Second, func() bool {
		st, ok := r.Status()
		return r.At("ups output on") >= 0 && ok && st.View.Outage == ""
	})
	r.Ready()
}

// end reads how things are.
func (r *room) end(p *site.Process) end {
	r.t.Helper()
	e := end{protected: r.NASFile("protected"), dirty: r.NASFile("dirty")}
	for _, vm := range append(slices.Clone(site.VMs), site.Spare) {
		if r.VSphere.VMOn(vm) {
			e.on = append(e.on, vm)
		}
	}
	for _, h := range r.VSphere.Hosts() {
		if r.VSphere.HostOn(h) {
			e.on = append(e.on, h)
		}
	}
	p.Kill()
	for _, rec := range records(r.t, r.Site) {
		if rec.Kind == engine.Opened {
			e.outages++
		}
		e.closed = ""
		if rec.Kind == engine.Closed {
			e.closed, e.forgotten = rec.Reason, e.forgotten+len(rec.Nodes)
		}
	}
	return e
}

// want is the end of an outage that nothing disturbs.
var want = end{
	on:        []string{"db", "app1", "app2", "lab1", "lab2", "esx01", "esx02"},
	protected: "no", dirty: "0", closed: "everything that was on is on again", outages: 1,
}

// after kills the daemon when the journal holds so many records, and notes the last of them.
type after struct {
	t      *testing.T
	count  int
	killed atomic.Pointer[engine.Record]
}

func (a *after) may(r *room) bool {
	if a.count == 0 {
		return true
	}
	recs := records(a.t, r.Site)
	if len(recs) < a.count {
		return true
	}
	a.killed.Store(&recs[len(recs)-1])
	return false
}

// name says what a record is about.
func name(r *engine.Record) string {
	words := []string{string(r.Kind)}
	for _, w := range []string{r.Node, r.Stage, string(r.Goal)} {
		if w != "" {
			words = append(words, w)
		}
	}
	if r.Verb != nil {
		words = append(words, r.Verb.String())
	}
	return fmt.Sprintf("record %d (%s)", r.Seq, strings.Join(words, " "))
}

// play plays one outage with a kill when the journal holds each of the numbers of records given, counted from the
// restart for all but the first.
func play(t *testing.T, kills ...int) (total int) {
	t.Helper()
	first := &after{t: t}
	if len(kills) > 0 {
		first.count = kills[0]
	}
	r, p := fail(t, first.may)
	var killed []string
	for i, now := 0, first; now.count > 0; i++ {
		select {
		case <-p.Ended():
		case <-time.After(2 * time.Minute):
			t.Fatalf("there is no record %d to kill after; the story so far:\n%s", now.count, strings.Join(r.Told(), "\n"))
		}
		have := records(t, r.Site)
		last := now.killed.Load()
		require.NotNil(t, last, "the daemon ended by itself")
		require.Equal(t, last.Seq, have[len(have)-1].Seq, "the record outlived the kill and nothing came after it")
		killed = append(killed, name(last))
		next := &after{t: t}
		if i+1 < len(kills) {
			next.count = len(have) + kills[i+1]
		}
		p = startUnder(t, site.Daemon(binary, r.settings), func() bool { return next.may(r) })
		now = next
	}
	r.finish()
	took := time.Since(r.began)
	got := r.end(p)
	v := judge(r.Story())
	t.Logf("kill after %s: %s, %d repeated, %.1fs", strings.Join(killed, ", then "), map[bool]string{true: "same end state", false: "another end state"}[fmt.Sprint(got) == fmt.Sprint(want)], len(v.repeated), took.Seconds())
	for _, rec := range records(t, r.Site) {
		t.Logf("%s %s", rec.At.Format("05.000"), name(&rec))
	}
	require.Equal(t, want, got)
	require.Empty(t, v.broken)
	require.Empty(t, v.repeated)
	_ = journal.Format
	return len(records(t, r.Site))
}

func TestUndisturbed(t *testing.T) {
	play(t)
}

func TestOne(t *testing.T) {
	play(t, 20)
}
