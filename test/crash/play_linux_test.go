package crash_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/test/site"
)

// kill is when the daemon is killed: before it can act on a record, or when a peer has told something.
type kill struct {
	record int    // of the outage for the first kill, else of those since the restart
	words  string // or the newest of which sentence says so: "intent db start"
	told   string // a moment of the story
	until  string // the moment at which it is started again; "": at once
	fail   bool   // the mains fail again while it is away
}

func (k kill) String() string {
	words := k.told + k.words
	if k.record > 0 {
		words = fmt.Sprintf("record %d", k.record)
	}
	if k.until != "" {
		words += " until " + k.until
	}
	if k.fail {
		words += " and the mains again"
	}
	return words
}

// game is one outage on a site of its own, with its kills.
type game struct {
	*site.Site
	t        *testing.T
	settings string
	daemon   *site.Process
	killAt   atomic.Int64                  // how many records the journal may not outgrow; 0: any number
	killOn   atomic.Value                  // the words of a record that it may not have; "": any
	last     atomic.Pointer[ledger.Record] // the newest record when the sentry killed
}

// opening is who may open a site. That is the part which takes the machine's time: all at once, and some would wait too long for
// an answer.
var opening = make(chan struct{}, 2)

// open makes a site with its daemon, which knows it.
func open(t *testing.T, kills []kill) *game {
	t.Helper()
	opening <- struct{}{}
	defer func() { <-opening }()
	g := &game{Site: site.New(t, site.Options{Return: true, Answers: true}), t: t}
	g.settings = g.Files(true)
	t.Cleanup(g.tell)
	g.start(kills, 0)
	g.Ready()
	return g
}

// play plays one outage with its kills, asserts how it ends, and gives the number of its records.
func play(t *testing.T, kills []kill) int {
	t.Helper()
	g := open(t, kills)
	began := time.Now()
	g.SetMains(false)
	var killed []string
	for i, k := range kills {
		what, over := g.await(k)
		if over {
			require.Empty(t, k.words, "it was over before that record")
			killed = append(killed, "nothing more: it was over before "+k.String())
			break
		}
		if k.until != "" {
			g.Until(k.until, time.Minute, func() bool { return g.At(k.until) >= 0 })
			what += ", away until " + k.until
		}
		if k.fail {
			g.SetMains(false)
			what += ", and the mains fail again"
		}
		killed = append(killed, what)
		g.start(kills[i+1:], len(records(t, g.Site)))
	}
	g.finish()
	took := time.Since(began)
	got, v := g.end(), judge(t, g.Story())
	if lost := unproven(records(t, g.Site)); len(lost) > 0 {
		killed = append(killed, "with what "+strings.Join(lost, " and ")+" answered")
		v.broken = slices.DeleteFunc(v.broken, isLeftToTheLast)
	}
	if what := toldOnceMore(records(t, g.Site)); what != "" {
		killed = append(killed, what+" once more")
		v.repeated = slices.DeleteFunc(v.repeated, func(repeated string) bool { return repeated == what })
	}
	g.report(killed, got, v, took)
	return len(records(t, g.Site))
}

// unproven gives the hosts of which nobody can know that they are off: the answer to their stop was lost with the daemon, and
// they were gone before they could be asked again. The storage then stays on until the battery is about to die.
func unproven(recs []ledger.Record) []string {
	hosts, killed := []string{"esx01", "esx02"}, false
	for _, rec := range recs {
		switch {
		case rec.Kind == ledger.Gap:
			killed = true
		case rec.Kind == ledger.Intent && rec.Verb != nil && *rec.Verb == plan.Cut:
			if !killed || !strings.HasPrefix(rec.Reason, "the battery is about to give out") {
				return nil
			}
			return hosts
		case rec.Kind == ledger.Accepted && rec.Outcome == ledger.Done, rec.Kind == ledger.Proven:
			hosts = slices.DeleteFunc(hosts, func(h string) bool { return h == rec.Node })
		}
	}
	return nil
}

// toldOnceMore is what the NAS is told again, whatever it shows: the daemon was killed when it was about to put the cache back, and put
// that off since. Nobody knows whether it was told, and may do it yet: it is put back when its time comes, or protected if the mains fail
// again.
func toldOnceMore(recs []ledger.Record) string {
	undoing, lost, putOff := false, false, false
	for _, rec := range recs {
		isUndo := rec.Verb != nil && *rec.Verb == plan.Unprotect
		switch {
		case rec.Kind == ledger.Intent && putOff && isUndo:
			return "nas asked unprotect"
		case rec.Kind == ledger.Intent && putOff && rec.Verb != nil && *rec.Verb == plan.Protect:
			return "nas asked protect"
		case rec.Kind == ledger.Intent:
			undoing = undoing || isUndo
		case rec.Kind == ledger.Gap:
			lost = lost || undoing
		case rec.Kind == ledger.HeldBack:
			putOff = putOff || lost && isUndo
		}
	}
	return ""
}

// isLeftToTheLast reports whether a broken rule is that of a storage left on to the last.
func isLeftToTheLast(broken string) bool {
	return strings.HasPrefix(broken, "3: the output of ups is cut while nas is on") ||
		broken == "8: nas went off 0 times and came on 0 times"
}

// tell shows what led to a failure.
func (g *game) tell() {
	if !g.t.Failed() {
		return
	}
	var lines []string
	for _, rec := range records(g.t, g.Site) {
		lines = append(lines, fmt.Sprintf("%s %s %s", rec.At.Format("15:04:05.000"), sentence(&rec), rec.Reason))
	}
	for _, m := range g.Story() {
		lines = append(lines, m.At.Format("15:04:05.000")+" "+m.What)
	}
	g.t.Log(strings.Join(lines, "\n"))
}

// start starts the daemon, under a sentry that kills it at the next of the kills if that is a record.
func (g *game) start(next []kill, have int) {
	g.t.Helper()
	g.killAt.Store(0)
	g.killOn.Store("")
	if len(next) > 0 && next[0].record > 0 {
		g.killAt.Store(int64(have + next[0].record))
	}
	if len(next) > 0 {
		g.killOn.Store(next[0].words)
	}
	g.daemon = startUnder(g.t, site.Daemon(binary, g.settings), g.mayLive)
}

func (g *game) mayLive() bool {
	at, on := int(g.killAt.Load()), g.killOn.Load().(string)
	if at == 0 && on == "" {
		return true
	}
	recs := records(g.t, g.Site)
	isIt := func(r ledger.Record) bool { return strings.Contains(sentence(&r), "("+on+")") }
	if at > 0 && len(recs) < at || on != "" && !slices.ContainsFunc(recs, isIt) {
		return true
	}
	g.last.Store(&recs[len(recs)-1])
	return false
}

// await waits until the daemon has been killed and says after what, or until the outage is over.
func (g *game) await(k kill) (what string, over bool) {
	g.t.Helper()
	if k.told != "" {
		g.Until(k.told, time.Minute, func() bool { return g.At(k.told) >= 0 })
		g.daemon.Kill()
		return k.told, false
	}
	g.Until("kill after "+k.String(), 2*time.Minute, func() bool {
		over = g.daemon.Running() && g.isOver()
		return over || !g.daemon.Running()
	})
	if over {
		return "", true
	}
	last, now := g.last.Load(), records(g.t, g.Site)
	require.NotNil(g.t, last, "the daemon ended by itself")
	require.Equal(g.t, *last, now[len(now)-1], "the record outlived the kill, and nothing came after it")
	what = sentence(last)
	if wanted := uint64(g.killAt.Load()); wanted > 0 && last.Seq > wanted {
		what += fmt.Sprintf(", in one commit with %d", wanted)
	}
	return what, false
}

func (g *game) isOver() bool {
	if g.At("ups output on") < 0 {
		return false
	}
	st, ok := g.Status()
	return ok && st.View.Outage == ""
}

// finish waits until the outage is over and the daemon knows the estate again.
func (g *game) finish() {
	g.t.Helper()
	g.Until("end of the outage", 150*time.Second, g.isOver)
	g.Ready()
}

// end is how an outage has left the site.
type end struct {
	on               []string
	protected, dirty string // of the NAS's cache
	outages          int    // in the journal
	closed           string // the reason of its last record, if that closes an outage
	unrestored       int    // nodes that it says were not brought back
}

// undisturbed is the end of an outage that nothing disturbs.
var undisturbed = end{
	on:        []string{"db", "app1", "app2", "lab1", "lab2", "esx01", "esx02"},
	protected: "no", dirty: "0", outages: 1, closed: "everything that was on is on again",
}

// end stops the daemon and reads how things are.
func (g *game) end() end {
	g.t.Helper()
	g.killAt.Store(0)
	g.killOn.Store("")
	g.daemon.Kill()
	e := end{protected: g.NASFile("protected"), dirty: g.NASFile("dirty")}
	e.on = slices.DeleteFunc(append(slices.Clone(site.VMs), site.Spare), func(vm string) bool { return !g.VSphere.VMOn(vm) })
	e.on = append(e.on, slices.DeleteFunc(g.VSphere.Hosts(), func(h string) bool { return !g.VSphere.HostOn(h) })...)
	for _, rec := range records(g.t, g.Site) {
		e.closed = ""
		switch rec.Kind {
		case ledger.Opened:
			e.outages++
		case ledger.Closed:
			e.closed, e.unrestored = rec.Reason, e.unrestored+len(rec.Nodes)
		default:
		}
	}
	return e
}

// report prints one line, and fails the test where it has to say something bad.
func (g *game) report(killed []string, got end, v verdict, took time.Duration) {
	g.t.Helper()
	what, state := "no kill", "same end state"
	if len(killed) > 0 {
		what = "kill after " + strings.Join(killed, ", then ")
	}
	if fmt.Sprint(got) != fmt.Sprint(undisturbed) {
		state = fmt.Sprintf("ANOTHER END STATE: %+v", got)
	}
	line := fmt.Sprintf("%s: %s, %d repeated, %.1fs", what, state, len(v.repeated), took.Seconds())
	if v.again > 0 {
		line += fmt.Sprintf("; %d sent again before it had an effect", v.again)
	}
	if len(v.broken) > 0 {
		line += fmt.Sprintf("; BROKEN: %s", strings.Join(v.broken, "; "))
	}
	fmt.Println(line)
	require.Equal(g.t, undisturbed, got)
	require.Empty(g.t, v.broken)
	require.Empty(g.t, v.repeated)
}

// sentence says what a record is about.
func sentence(r *ledger.Record) string {
	words := []string{string(r.Kind)}
	for _, w := range []string{r.Node, string(r.Stage), string(r.Goal)} {
		if w != "" {
			words = append(words, w)
		}
	}
	if r.Verb != nil {
		words = append(words, r.Verb.String())
	}
	return fmt.Sprintf("record %d (%s)", r.Seq, strings.Join(words, " "))
}
