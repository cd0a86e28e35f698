package crash_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/referee"
	"ebbtide/test/site"
)

// estate is the site as the referee is told of it, from what stands there and not from the runbook.
func estate(t *testing.T) *plan.Estate {
	t.Helper()
	node := func(id string, kind plan.Kind, needs string, can ...plan.Verb) plan.Node {
		return plan.Node{ID: id, Kind: kind, DependsOn: strings.Fields(needs), Can: plan.VerbSet(can...), Stage: plan.ShutdownStage}
	}
	vm := []plan.Verb{plan.Stop, plan.Force, plan.Start}
	nodes := []plan.Node{
		node("ups", plan.Supply, "", plan.Cut),
		node("nas", plan.Other, "", plan.Protect, plan.Flush, plan.Stop, plan.Unprotect),
		node("esx01", plan.Host, "nas", plan.Stop), node("esx02", plan.Host, "nas", plan.Stop),
		node("db", plan.VM, "esx01", vm...), node("app1", plan.VM, "esx01 db", vm...), node("app2", plan.VM, "esx02 db", vm...),
		node("lab1", plan.VM, "esx02", vm...), node("lab2", plan.VM, "esx01", vm...), node(site.Spare, plan.VM, "esx02", vm...),
	}
	for i := range nodes[1:4] { // their power alone starts them
		nodes[i+1].FedBy, nodes[i+1].ByPower = []string{"ups"}, true
	}
	e, err := plan.NewEstate(nodes, nil)
	require.NoError(t, err)
	return e
}

// verdict is what came of a story.
type verdict struct {
	broken   []string // rules
	repeated []string // commands for what was so already
	again    int      // commands sent again before they had taken effect: no fault, as nobody knew whether they were heard
}

// witness replays a story of the site and tells the referee what the peers saw. It knows nothing of the journal. Beside the
// rules it holds what is so on this site: nothing hangs, nothing is on its way when the mains fail, and all goes down once
// for each failure.
type witness struct {
	*referee.Referee
	verdict
	estate   *plan.Estate
	truth    []referee.Condition
	cycles   map[string][2]int // how often each went off, and on
	power    referee.Poll
	failures int // of the mains
	output   bool
	returned bool            // the output was off and is on again
	said     string          // by the NAS, to the newest probe
	sent     map[string]bool // commands
	now      time.Time
}

// judge replays a whole outage.
func judge(t *testing.T, story []site.Moment) verdict {
	t.Helper()
	w := witness{estate: estate(t), cycles: map[string][2]int{}, sent: map[string]bool{}, output: true, now: story[0].At}
	w.Referee = referee.New(referee.Options{
		Estate: w.estate, Policy: power.Policy{Restore: power.Condition{Kind: power.Online, For: site.Gate}}, Began: w.now,
	})
	w.truth = make([]referee.Condition, w.estate.Len())
	for i := range w.truth {
		w.truth[i] = referee.Condition{State: plan.On, Dirty: w.estate.Node(i).Can.Has(plan.Flush)}
		if w.estate.Node(i).ID == site.Spare {
			w.truth[i].State = plan.Off
		}
		w.Changed(w.now, i, w.truth[i])
	}
	w.power = referee.Poll{Supply: w.at("ups"), Mains: true, On: true, Heard: true, Charge: 1}
	for _, m := range story {
		w.pass(m.At)
		w.see(m.What)
	}
	w.Ended(w.now, referee.End{})
	w.count()
	w.broken = slices.Concat(w.Violations, w.broken)
	return w.verdict
}

// count holds that each thing went off and came back once for each failure, and that what was off stayed so.
func (w *witness) count() {
	for i := range w.truth {
		id, spare := w.estate.Node(i).ID, w.estate.Node(i).ID == site.Spare
		c := w.cycles[id]
		if w.estate.Node(i).Kind != plan.Supply && (!spare && (c[0] < 1 || c[0] > w.failures) || spare && c[0] > 0 || c[0] != c[1]) {
			w.breaks("8: %s went off %d times and came on %d times", id, c[0], c[1])
		}
	}
}

func (w *witness) breaks(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

func (w *witness) at(id string) int {
	i, ok := w.estate.Index(id)
	if !ok {
		panic("the site has no " + id)
	}
	return i
}

// is tells how a thing is.
func (w *witness) is(id string) *referee.Condition { return &w.truth[w.at(id)] }

// pass lets time go by, with a poll in each second.
func (w *witness) pass(until time.Time) {
	for ; w.now.Before(until); w.poll() {
		w.now = w.now.Add(min(time.Second, until.Sub(w.now)))
	}
}

func (w *witness) poll() {
	w.power.On = w.power.Mains && w.output
	w.Polled(w.now, w.power)
}

// sends notes a command; settled tells that what it is to bring about is so already.
func (w *witness) sends(what string, settled bool) {
	switch {
	case settled:
		w.repeated = append(w.repeated, what)
	case w.sent[what]:
		w.again++
	}
	w.sent[what] = true
}

func (w *witness) see(what string) {
	words := strings.Fields(what)
	subject, verb := words[0], words[len(words)-1]
	switch {
	case subject == "mains" && verb != "on" && verb != "off":
		w.breaks("7: %s, which is not known", what)
	case subject == "mains" && w.power.Mains == (verb == "on"): // given back again at a second cut
	case subject == "mains":
		w.power.Mains = verb == "on"
		if !w.power.Mains { // what was done for the failure before may be done again
			w.failures, w.returned, w.sent = w.failures+1, false, map[string]bool{}
		}
		w.poll()
	case what == "ups output off":
		w.output = false
		w.OutputLost(w.now, w.at("ups"))
	case what == "ups output on":
		w.output, w.returned = true, true
		w.OutputBack(w.now, w.at("ups"))
		w.poll()
	case subject == "ups":
		w.upsTold(what, verb)
	case verb == "on", verb == "off":
		w.changed(words[len(words)-2], verb == "on")
	case subject == "nas" && words[1] == "says":
		w.said = what
	case subject == "nas" && words[1] == "asked":
		w.nasAsked(what, verb)
	case subject == "nas":
		w.nasDid(verb)
	default:
		w.commanded(what, subject, verb)
	}
}

func (w *witness) command(id string, verb plan.Verb) {
	w.Commanded(w.now, referee.Command{Node: w.at(id), Verb: verb})
}

func (w *witness) upsTold(what, command string) {
	if command != "shutdown.return" {
		w.breaks("3: the UPS was told %q", what)
		return
	}
	w.command("ups", plan.Cut)
	w.sends(what, !w.output || w.returned)
}

// changed takes a change of power.
func (w *witness) changed(id string, on bool) {
	c := w.cycles[id]
	w.is(id).State = plan.Off
	if on {
		w.is(id).State = plan.On
		c[1]++
	} else {
		c[0]++
	}
	w.cycles[id] = c
	w.Changed(w.now, w.at(id), *w.is(id))
}

// commanded takes a command to a VM or a host.
func (w *witness) commanded(what, method, id string) {
	start := method == "PowerOnVM_Task"
	settled := (w.is(id).State == plan.On) == start
	w.sends(what, settled)
	switch {
	case settled:
	case start:
		w.command(id, plan.Start)
	case method == "PowerOffVM_Task":
		w.breaks("18: %s, and nothing hung", what)
		w.command(id, plan.Force)
	default:
		if method == "ShutdownGuest" && !w.is("nas").Protected {
			w.breaks("12: %s before the cache of the NAS was in write-through mode", what)
		}
		w.command(id, plan.Stop)
	}
}

// nasAsked takes a command to the NAS as it arrives. It is a repetition if the NAS had said before that it is so: a
// command can be on its way for long, and what it is to bring about may come true meanwhile.
func (w *witness) nasAsked(what, command string) {
	var verb plan.Verb
	if err := verb.UnmarshalText([]byte(command)); err != nil {
		w.breaks("7: %s, which it does not know", what)
		return
	}
	settled := map[plan.Verb]bool{
		plan.Protect: strings.Contains(w.said, "protected=yes"), plan.Unprotect: strings.Contains(w.said, "protected=no"),
		plan.Flush: strings.Contains(w.said, "dirty=0"), plan.Stop: w.is("nas").State == plan.Off,
	}
	w.sends(what, settled[verb])
	for _, host := range []string{"esx01", "esx02"} {
		if verb == plan.Flush && w.is(host).State == plan.On {
			w.breaks("12: the cache was flushed with %s on, which can make it dirty again", host)
		}
	}
	w.command("nas", verb)
}

// nasDid follows what the NAS has carried out.
func (w *witness) nasDid(command string) {
	n := w.is("nas")
	switch command {
	case "protect", "unprotect":
		if n.Protected, n.Set = command == "protect", ""; n.Protected {
			n.Set = "write-through"
		}
	case "flush":
		n.Dirty = false
	case "stop", "start":
	default:
		w.breaks("7: the NAS did %q, which is not known", command)
	}
	w.Changed(w.now, w.at("nas"), *n)
}
