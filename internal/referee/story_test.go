package referee_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/referee"
)

// room is what the stories play in: a host with VMs on storage with a cache, all on one UPS; a second host that two UPSes feed;
// an outlet of the first UPS with a box on it; a cluster whose vCenter is one of the VMs. The large one has also storage on the second
// UPS with a host of the first that uses it, and a server behind a strip of the second; all take minutes there, and a silent host is
// off after two.
func room(t *testing.T, large bool) *plan.Estate {
	t.Helper()
	node := func(id string, kind plan.Kind, needs, feeds string, verbs ...plan.Verb) plan.Node {
		return plan.Node{
			ID: id, Type: kind.String(), Kind: kind, DependsOn: strings.Fields(needs), FedBy: strings.Fields(feeds),
			Can: plan.VerbSet(verbs...), Stage: plan.ShutdownStage,
		}
	}
	cut, vm := []plan.Verb{plan.Cut, plan.Start}, []plan.Verb{plan.Stop, plan.Force, plan.Start}
	nodes := []plan.Node{
		node("ups", plan.Supply, "", "", cut...),
		node("ups2", plan.Supply, "", "", cut...),
		node("nas", plan.Other, "", "ups", plan.Protect, plan.Flush, plan.Stop, plan.Start, plan.Unprotect),
		node("flash", plan.Other, "nas", "", plan.Protect, plan.Flush, plan.Unprotect),
		node("strip", plan.Outlet, "", "ups", plan.Stop, plan.Start),
		node("box", plan.Other, "strip", "ups", plan.Stop, plan.Start),
		node("esx", plan.Host, "nas", "ups", vm...),
		node("twin", plan.Host, "", "ups ups2", plan.Stop, plan.Force, plan.Start, plan.Unprotect), // in maintenance mode
		node("db", plan.VM, "esx", "", vm...),
		node("app", plan.VM, "esx db", "", vm...),
		node("lab", plan.VM, "esx", "", vm...),
		node("vcenter", plan.VM, "esx", "", vm...),
		node("cluster", plan.Cluster, "vcenter", "", plan.Protect, plan.Unprotect),
		node("me", plan.Self, "", "ups", plan.Stop),
	}
	if large {
		nodes = append(nodes,
			node("san", plan.Other, "", "ups2", plan.Stop, plan.Start),
			node("esx2", plan.Host, "san", "ups", vm...),
			node("pdu", plan.Passive, "", "ups2"),
			node("srv", plan.Host, "pdu", "", vm...),
		)
	}
	for i := range nodes {
		if large && nodes[i].Can.Has(plan.Stop) {
			nodes[i].Times[plan.Stop] = plan.Times{Nominal: time.Minute, Within: 5 * time.Minute}
			nodes[i].Times[plan.Start] = nodes[i].Times[plan.Stop]
		}
		if large && nodes[i].Kind == plan.Host {
			nodes[i].OffAfter = 2 * time.Minute
		}
		switch n := &nodes[i]; n.ID {
		case "esx":
			n.ByPower = true
		case "db":
			n.Risk = plan.Database
		case "nas":
			n.Risk = plan.Storage
		case "cluster":
			n.Stage = plan.ProtectStage
		}
		if nodes[i].Kind == plan.VM {
			nodes[i].Host = "esx"
		}
	}
	estate, err := plan.NewEstate(nodes, []plan.Limit{{Class: "vm", Total: 2}})
	require.NoError(t, err)
	return estate
}

// story plays a history that is told in words. Each line is one of
//
//	+10s                          so much time passes, with a poll of each supply in each second
//	ups: out | back | off | on | silent | speaks | full | empty | uncut     mains, output, voice, battery, a cut not made
//	esx: on | off | starting | stopping | gone | unknown | dirty | clean | protected | bare | meddled | answers | lies
//	esx set WORD                  what a cache or a cluster is set to
//	outage ID…                    an outage opens, and all that is on goes into the snapshot, but for these
//	drill ID…                     a drill opens that takes these
//	record KIND [VERB] [ID] [(why)] [key=value…]
//	stop esx [(why)]              an intent is recorded, and its command given; any verb; unprotect says what it puts back
//	bare stop esx                 a command without an intent
//	resumed, forgot, ends WORDS   the controller is back; records are lost; the run ends, with what it waits for
type story struct {
	*referee.Referee
	t      *testing.T
	estate *plan.Estate
	now    time.Time
	nodes  map[string]*referee.Condition
	polls  []*referee.Poll
	op     ledger.Op
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func play(t *testing.T, estate *plan.Estate, sight referee.Sight, text string) []string {
	t.Helper()
	return tellStory(t, estate, sight, text).Violations
}

func tellStory(t *testing.T, estate *plan.Estate, sight referee.Sight, text string) *referee.Referee {
	t.Helper()
	s := &story{t: t, estate: estate, now: began, nodes: map[string]*referee.Condition{}}
	policy := power.Policy{Restore: power.Condition{Kind: power.Online, For: time.Minute}, Reserve: time.Minute}
	s.Referee = referee.New(referee.Options{Estate: s.estate, Policy: policy, Sight: sight, Began: began})
	for i := range s.estate.Len() {
		n := s.estate.Node(i)
		s.nodes[n.ID] = &referee.Condition{State: plan.On, Set: "fast", Protected: n.ID == "flash"}
		if n.Kind == plan.Supply {
			s.polls = append(s.polls, &referee.Poll{
				Supply: i, Mains: true, On: true, Heard: true, Honest: true, Charge: 1,
				Left: time.Hour,
			})
		}
		s.Changed(s.now, i, *s.nodes[n.ID])
	}
	for line := range strings.SplitSeq(text, "\n") {
		for part := range strings.SplitSeq(line, ";") {
			if words := strings.Fields(part); len(words) > 0 {
				s.tell(words)
			}
		}
	}
	return s.Referee
}

func (s *story) tell(words []string) {
	id, isNode := strings.CutSuffix(words[0], ":")
	switch {
	case words[0][0] == '+':
		d, err := time.ParseDuration(words[0][1:])
		require.NoError(s.t, err)
		s.pass(d)
	case isNode:
		s.changes(id, words[1])
	case len(words) > 2 && words[1] == "set":
		s.nodes[words[0]].Set = words[2]
		s.Changed(s.now, s.at(words[0]), *s.nodes[words[0]])
	case words[0] == "outage", words[0] == "drill":
		s.opens(words[0] == "drill", words[1:])
	case words[0] == "record":
		s.records(words[1:])
	case words[0] == "resumed":
		s.Resumed(s.now)
	case words[0] == "forgot":
		s.Forgot()
	case words[0] == "ends":
		how := one(s, words[1], "open", "closed", "held")
		s.Ended(s.now, referee.End{Open: how != "closed", Hold: how == "held", Waiting: strings.Join(words[2:], " ")})
	case words[0] == "bare":
		s.commands(words[1:])
	default:
		intent := words
		if words[0] == plan.Unprotect.String() {
			intent = words[:2] // what it is put back to is in the snapshot
		}
		s.records(append([]string{"intent"}, intent...))
		s.commands(words)
	}
}

func (s *story) at(id string) int {
	i, ok := s.estate.Index(id)
	require.True(s.t, ok, "no node %q", id)
	return i
}

func (s *story) pass(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(time.Second)
		for _, p := range s.polls {
			s.Polled(s.now, *p)
		}
	}
}

func (s *story) changes(id, how string) {
	i := s.at(id)
	n := s.nodes[id]
	for _, p := range s.polls {
		if p.Supply == i {
			s.supplyChanges(p, how)
			return
		}
	}
	switch how {
	case "protected", "bare":
		n.Protected = how == "protected"
	case "dirty", "clean":
		n.Dirty = how == "dirty"
	case "dark":
		n.State, n.Dark = plan.Off, true
	case "meddled":
		s.Meddled(s.now, i)
	case "answers", "lies":
		s.Answered(s.now, i)
		s.Told(s.now, i, how == "lies")
	case "silent":
		s.Unanswered(s.now, i)
	default:
		require.NoError(s.t, n.State.UnmarshalText([]byte(how)))
	}
	s.Changed(s.now, i, *n)
}

func (s *story) supplyChanges(p *referee.Poll, how string) {
	switch how {
	case "out", "back":
		p.Mains = how == "back"
		p.On = p.Mains
	case "off":
		p.On = false
		s.OutputLost(s.now, p.Supply)
	case "on":
		p.On = p.Mains
		s.OutputBack(s.now, p.Supply)
	case "silent", "speaks":
		p.Heard = how == "speaks"
	case "empty", "full":
		p.Left = map[string]time.Duration{"empty": 30 * time.Second, "full": time.Hour}[how]
	case "uncut":
		s.Uncut(s.now, p.Supply)
	case "meddled":
		s.Meddled(s.now, p.Supply)
	case "answers":
		s.Answered(s.now, p.Supply)
		s.Told(s.now, p.Supply, false)
	default:
		s.t.Fatalf("a supply can't become %q", how)
	}
}

func (s *story) opens(drill bool, ids []string) {
	rec := ledger.Record{Kind: ledger.Opened, Opening: ledger.Opening{Mode: ledger.ModeRun}}
	snapshot := ledger.Record{Kind: ledger.Snapshot}
	if drill {
		rec.Mode, rec.Scope, ids = ledger.ModeDrill, ids, nil
	}
	for _, p := range s.polls {
		if p.Heard && !p.On {
			rec.Supplies = append(rec.Supplies, s.estate.Node(p.Supply).ID)
		}
	}
	s.Recorded(s.now, &rec)
	for i := range s.estate.Len() {
		n := ledger.NodeState{Node: s.estate.Node(i).ID, Protected: plan.No}
		n.State = s.nodes[n.Node].State
		for _, but := range ids {
			if n.Node == but {
				n.State = plan.Off
			}
		}
		snapshot.Nodes = append(snapshot.Nodes, n)
	}
	s.Recorded(s.now, &snapshot)
}

// kinds and causes are those that a story may have.
var (
	kinds = []ledger.Kind{
		ledger.Opened, ledger.Snapshot, ledger.Widened, ledger.Triggered, ledger.Intent, ledger.Accepted, ledger.Proven, ledger.Failed,
		ledger.Reopened, ledger.HeldBack, ledger.NoReturn, ledger.Mains, ledger.Turned, ledger.Ordered, ledger.Asked, ledger.Forbidden,
		ledger.Gap, ledger.Still, ledger.Spent, ledger.Closed, ledger.Seen,
	}
	causes = []ledger.Cause{
		ledger.Overtime, ledger.Denied, ledger.Pressed, ledger.Dropping, ledger.TakenAlong, ledger.Silence, ledger.Already, ledger.Failing,
		ledger.Returned, ledger.Cycled, ledger.Dark, ledger.Unseen, ledger.Released, ledger.AfterAll, ledger.Unheard, ledger.HeardAgain,
		ledger.CameAgain, ledger.Disproved, ledger.Armed, ledger.Hung,
	}
	outcomes = []ledger.Outcome{ledger.Done, ledger.Refused, ledger.Busy, ledger.Unreached, ledger.TimedOut, ledger.NoSuchThing}
	orders   = []ledger.OrderVerb{
		ledger.Hold, ledger.Resume, ledger.Abort, ledger.Go, ledger.Confirm, ledger.Skip, ledger.OrderVerb(ledger.ModeDrill),
	}
	modes = []ledger.Mode{ledger.ModeRun, ledger.ModeDrill, ledger.ModeObserve, ledger.ModeSimulate}
)

// one gives what a word stands for, which must be one of a list.
func one[W ~string](s *story, word string, of ...W) W {
	require.Contains(s.t, of, W(word))
	return W(word)
}

func (s *story) records(words []string) {
	rec := ledger.Record{Kind: one(s, words[0], kinds...), Step: ledger.Step{Op: s.op}}
	if words[0] == "intent" {
		s.op++
		rec.Op = s.op
	}
	for _, w := range words[1:] {
		var verb plan.Verb
		key, value, isPair := strings.Cut(w, "=")
		switch {
		case rec.Reason != "" || w[0] == '(':
			rec.Reason = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(rec.Reason+" "+w), "("), ")")
		case isPair:
			s.field(&rec, key, value)
		case verb.UnmarshalText([]byte(w)) == nil:
			rec.Verb = &verb
		default:
			s.at(w)
			rec.Node = w
		}
	}
	s.Recorded(s.now, &rec)
}

func (s *story) field(rec *ledger.Record, key, value string) {
	switch key {
	case "supplies":
		rec.Supplies = strings.Split(value, ",")
	case "goal":
		rec.Goal = one(s, value, plan.Down, plan.Up)
	case "cause":
		rec.Cause = one(s, value, causes...)
	case "stage":
		rec.Stage = plan.Stage(value)
	case "outcome":
		rec.Outcome = one(s, value, outcomes...)
	case "order":
		rec.Order = one(s, value, orders...)
	case "mode":
		rec.Mode = one(s, value, modes...)
	case "attempt":
		attempt, err := strconv.Atoi(value)
		require.NoError(s.t, err)
		rec.Attempt = attempt
	case "state":
		var st plan.State
		require.NoError(s.t, st.UnmarshalText([]byte(value)))
		rec.State = &st
	case "nodes":
		for id := range strings.SplitSeq(value, ",") {
			s.at(id)
			rec.Nodes = append(rec.Nodes, ledger.NodeState{Node: id, State: plan.On})
		}
	default:
		s.t.Fatalf("no field %q", key)
	}
}

func (s *story) commands(words []string) {
	var verb plan.Verb
	require.NoError(s.t, verb.UnmarshalText([]byte(words[0])), fmt.Sprint(words))
	c := referee.Command{Node: s.at(words[1]), Verb: verb, Op: uint64(s.op)}
	if verb == plan.Unprotect {
		c.Settings = "fast"
		if len(words) > 2 {
			c.Settings = words[2]
		}
	}
	s.Commanded(s.now, c)
}
