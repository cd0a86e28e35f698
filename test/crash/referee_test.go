package crash_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ebbtide/test/site"
)

// needs is what each thing of the site needs in order to run.
var needs = map[string][]string{
	"nas": nil, "esx01": {"nas"}, "esx02": {"nas"},
	"db": {"esx01"}, "app1": {"esx01", "db"}, "app2": {"esx02", "db"}, "lab1": {"esx02"}, "lab2": {"esx01"},
	site.Spare: {"esx02"},
}

// verdict is what a referee found in a story.
type verdict struct {
	broken   []string // rules
	repeated []string // commands for what was so already
	again    int      // commands sent again before they had taken effect: no fault, as nobody knew whether they were heard
}

// referee replays a story of the site and holds it against the rules of DESIGN §5. It knows nothing of the journal.
type referee struct {
	verdict
	on        map[string]bool
	wasOn     map[string]bool
	cycles    map[string][2]int // how often each went off, and on
	mains     bool
	failures  int       // of the mains
	since     time.Time // the mains are as they are
	output    bool
	returned  bool // the output was off and is on again
	protected bool // the NAS's cache
	clean     bool
	said      string          // by the NAS, to the newest probe
	sent      map[string]bool // commands
	now       time.Time
}

// judge replays a whole outage.
func judge(story []site.Moment) verdict {
	r := referee{on: map[string]bool{}, cycles: map[string][2]int{}, sent: map[string]bool{}, mains: true, output: true}
	for name := range needs {
		r.on[name] = name != site.Spare
	}
	r.wasOn = maps.Clone(r.on)
	for _, m := range story {
		r.now = m.At
		r.see(m.What)
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		c := r.cycles[name]
		if r.wasOn[name] && (c[0] < 1 || c[0] > r.failures) || !r.wasOn[name] && c[0] > 0 || c[0] != c[1] {
			r.breaks("8: %s went off %d times and came on %d times", name, c[0], c[1])
		}
		if r.on[name] != r.wasOn[name] {
			r.breaks("20: %s is on: %t, and was: %t", name, r.on[name], r.wasOn[name])
		}
	}
	if r.protected {
		r.breaks("12: the cache of the NAS is left in write-through mode")
	}
	return r.verdict
}

func (r *referee) breaks(format string, args ...any) {
	r.broken = append(r.broken, "rule "+fmt.Sprintf(format, args...))
}

// sends notes a command; settled tells that what it is to bring about is so already.
func (r *referee) sends(what string, settled bool) {
	switch {
	case settled:
		r.repeated = append(r.repeated, what)
	case r.sent[what]:
		r.again++
	}
	r.sent[what] = true
}

// users lists what is on and needs a thing.
func (r *referee) users(name string) []string {
	var on []string
	for user, its := range needs {
		if r.on[user] && slices.Contains(its, name) {
			on = append(on, user)
		}
	}
	slices.Sort(on)
	return on
}

func (r *referee) see(what string) {
	words := strings.Fields(what)
	subject, verb := words[0], words[len(words)-1]
	switch {
	case subject == "mains" && r.mains == (verb == "on"): // given back again at a second cut
	case subject == "mains":
		r.mains, r.since = verb == "on", r.now
		if !r.mains { // what was done for the failure before may be done again
			r.failures, r.returned, r.sent = r.failures+1, false, map[string]bool{}
		}
	case what == "ups output off":
		r.output = false
		r.allOff("3: the output went off with %s on")
	case what == "ups output on":
		r.output, r.returned = true, true
	case subject == "ups":
		r.upsTold(what, verb)
	case verb == "on", verb == "off":
		r.changed(words[len(words)-2], verb == "on")
	case subject == "nas" && words[1] == "says":
		r.said = what
	case subject == "nas" && words[1] == "asked":
		r.nasAsked(what, verb)
	case subject == "nas":
		r.nasDid(verb)
	default:
		r.commanded(what, subject, verb)
	}
}

// allOff holds that nothing is on.
func (r *referee) allOff(format string) {
	for _, name := range slices.Sorted(maps.Keys(r.on)) {
		if r.on[name] {
			r.breaks(format, name)
		}
	}
}

func (r *referee) upsTold(what, command string) {
	switch command {
	case "shutdown.return":
		r.allOff("3: the cut was commanded with %s on")
		r.sends(what, !r.output || r.returned)
	default:
		r.breaks("3: the UPS was told %q", what)
	}
}

// changed judges a change of power.
func (r *referee) changed(name string, on bool) {
	r.on[name] = on
	c := r.cycles[name]
	if !on {
		r.cycles[name] = [2]int{c[0] + 1, c[1]}
		if users := r.users(name); len(users) > 0 {
			r.breaks("10: %s went off while %s needed it", name, strings.Join(users, ", "))
		}
		return
	}
	r.cycles[name] = [2]int{c[0], c[1] + 1}
	for _, need := range needs[name] {
		if !r.on[need] {
			r.breaks("10: %s came on without %s", name, need)
		}
	}
}

// commanded judges a command to a VM or a host.
func (r *referee) commanded(what, method, name string) {
	start := method == "PowerOnVM_Task"
	r.sends(what, r.on[name] == start)
	if r.on[name] == start {
		return
	}
	if start {
		r.mayStart(what, name)
		return
	}
	r.mayStop(what, name)
	switch method {
	case "PowerOffVM_Task":
		r.breaks("18: %s, and nothing hung", what)
	case "ShutdownGuest":
		if !r.protected {
			r.breaks("12: %s before the cache of the NAS was in write-through mode", what)
		}
	}
}

func (r *referee) mayStop(what, name string) {
	if r.returned || r.mains {
		r.breaks("8: %s with the mains on", what)
	}
	if users := r.users(name); len(users) > 0 {
		r.breaks("10: %s while %s needed it", what, strings.Join(users, ", "))
	}
}

func (r *referee) mayStart(what, name string) {
	if !r.wasOn[name] {
		r.breaks("4: %s, which was off before the outage", what)
	}
	for _, need := range needs[name] {
		if !r.on[need] {
			r.breaks("10: %s before %s", what, need)
		}
	}
	r.gate(what)
}

// gate holds that nothing comes back on battery or before the mains have been there for long enough.
func (r *referee) gate(what string) {
	if !r.mains || !r.output || r.now.Sub(r.since) < site.Gate {
		r.breaks("5: %s before the recharge gate", what)
	}
}

// nasAsked judges a command to the NAS as it arrives. It is a repetition if the NAS had said before that it is so: a
// command can be on its way for long, and what it is to bring about may come true meanwhile.
func (r *referee) nasAsked(what, command string) {
	switch command {
	case "protect":
		r.sends(what, strings.Contains(r.said, "protected=yes"))
	case "unprotect":
		r.gate(what)
		r.sends(what, strings.Contains(r.said, "protected=no"))
	case "flush":
		r.sends(what, strings.Contains(r.said, "dirty=0"))
		if users := r.users("nas"); len(users) > 0 || !r.protected {
			r.breaks("12: the cache was flushed while it could get dirty again")
		}
	case "stop":
		r.sends(what, !r.on["nas"])
		if !r.clean {
			r.breaks("12: the NAS was stopped with a dirty cache")
		}
		r.mayStop(what, "nas")
	}
}

// nasDid follows what the NAS has carried out.
func (r *referee) nasDid(command string) {
	switch command {
	case "protect", "unprotect":
		r.protected = command == "protect"
	case "flush":
		r.clean = true
	}
}
