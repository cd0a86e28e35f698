package dst

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Near draws a world that differs a little from a given one: when things happen, when Ebbtide is killed and for how long it is away, how
// often it polls, what batteries have left and how long answers take. What broke a rule once has neighbours that still do, and they are
// found there sooner than by chance.
func Near(d Dice, text string) string {
	w := &drawing{d: d}
	scenario, book, _ := strings.Cut(text, ownRunbook)
	if !strings.Contains(scenario, "estimate_trials:") {
		scenario = strings.Replace(scenario, "\n", "\nestimate_trials: 20\n", 1)
	}
	lines := strings.Split(scenario, "\n")
	w.nearEvents(lines)
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "crash_after: "):
			lines[i] = numbers.ReplaceAllStringFunc(line, func(n string) string { return strconv.Itoa(w.nearby(n, 1, 5, 150)) })
		case strings.HasPrefix(line, "away: ") && w.one(3):
			lines[i] = "away: " + w.pick(absences)
		case strings.HasPrefix(line, "poll: ") && w.one(3):
			lines[i] = "poll: " + w.pick(polls)
		case strings.HasPrefix(line, `  "`):
			lines[i] = w.nearCondition(line)
		}
	}
	scenario = w.moreLuck(strings.Join(lines, "\n"), book)
	if !strings.Contains(scenario, "\ncrash_after: ") && w.one(2) {
		scenario += fmt.Sprintf("crash_after: [%d]\n", 1+w.d(120))
		if !strings.Contains(scenario, "\naway: ") {
			scenario += "away: " + w.pick(absences) + "\n"
		}
	}
	if strings.Contains(scenario, "journal: lost") && strings.Contains(scenario, "way: ") { // see forgets
		scenario = soonBack.ReplaceAllString(scenario, "away: 10s")
	}
	return scenario + ownRunbook + book
}

// Killed is a world in which Ebbtide is killed right after a record, is away for so long, and is killed by no other plan.
func Killed(text string, record int, away string) string {
	scenario, book, _ := strings.Cut(text, ownRunbook)
	return killed.ReplaceAllString(scenario, "") + fmt.Sprintf("away: %s\ncrash_after: [%d]\n", away, record) + ownRunbook + book
}

// IsDrawn reports whether a world could be a drawn one, so that others may be drawn near to it. That nobody has heard of a machine whose
// BMC calls it off, ever or since Ebbtide was killed, is not drawn any more (see bmcs).
func IsDrawn(text string) bool {
	for _, m := range wrongBMC.FindAllStringSubmatch(text, -1) {
		if strings.Contains(text, fmt.Sprintf("at: 0s, node: %q", m[1])) || strings.Contains(text, fmt.Sprintf("node: %q, silent: true", m[1])) {
			return false
		}
	}
	return strings.Contains(text, "\n"+ownRunbook) && strings.Contains(text, "\n  runbook: drawn\n") && supplyLine.MatchString(text) &&
		ofBook.MatchString(text)
}

var (
	absences   = []string{"10s", "100ms", "2s", "45s", "4m", "20m"}
	polls      = []string{"1s", "2s", "2s", "5s", "5s", "5s"} // each second is rare: it takes most of the time and shows no more
	numbers    = regexp.MustCompile(`\d+`)
	event      = regexp.MustCompile(`^  - {at: (\d+)s, (\w+: \S+ \w+)`)
	battery    = regexp.MustCompile(`(charge|runtime|recharge|dies_at): \d+`)
	supplyLine = regexp.MustCompile(`(?m)^  "(ups\d+)": {charge.*$`)
	killed     = regexp.MustCompile(`(?m)^(?:crash_after|away): .*\n`)
	soonBack   = regexp.MustCompile(`(?m)^away: (?:100ms|2s)$`)
	wrongBMC   = regexp.MustCompile(`"(\S+)": {.*bmc: (?:always-off|contrary)`)
	ofBook     = regexp.MustCompile(`(?m)^    (\S+): {type: (?:ssh, via|vsphere\.vm|vsphere\.host)[,:]`)
	gone       = regexp.MustCompile(`gone_at: \d+`)
	lie        = regexp.MustCompile(`lies_at: \d+`)
	slowness   = regexp.MustCompile(`slow: [0-9.]+s`)
)

// nearEvents has things happen a little sooner or later. What is turned off and on again is so in the same order, and the journal's disk
// comes back as it went.
func (w *drawing) nearEvents(lines []string) {
	of := map[string][]int{} // what happens to one thing: its lines
	var all []string
	for i, line := range lines {
		m := event.FindStringSubmatch(line)
		if m == nil || m[1] == "0" || strings.Contains(line, "journal") {
			continue
		}
		if len(of[m[2]]) == 0 {
			all = append(all, m[2])
		}
		of[m[2]] = append(of[m[2]], i)
	}
	at := func(i int) int {
		n, _ := strconv.Atoi(event.FindStringSubmatch(lines[i])[1])
		return n
	}
	for _, thing := range all {
		least := 1
		switch {
		case strings.Contains(thing, "becomes"), strings.Contains(thing, "order"):
			least = 60
		case strings.Contains(thing, "node") && strings.Contains(thing, "silent"):
			least = 151 // what is silent before is from the beginning on: nobody has seen it on
		}
		slices.SortStableFunc(of[thing], func(i, j int) int { return at(i) - at(j) })
		last := least
		for _, i := range of[thing] {
			last = max(last, w.nearby(strconv.Itoa(at(i)), least, 20, 300))
			lines[i] = event.ReplaceAllString(lines[i], fmt.Sprintf("  - {at: %ds, $2", last))
			last++
		}
	}
}

// moreLuck adds what the world had not: a fault, a wrong answer or a slow one of a node, or a while in which one is silent, or a supply.
func (w *drawing) moreLuck(scenario, book string) string {
	var ids []string
	for _, m := range ofBook.FindAllStringSubmatch(book, -1) {
		ids = append(ids, m[1])
	}
	for range w.d(4) {
		id := w.pick(ids)
		if strings.Contains(scenario, fmt.Sprintf("  %q: {", id)) { // what is drawn of it stays as it is
			continue
		}
		said := w.pick([]string{
			fmt.Sprintf("lies_at: %d", 1+w.d(8)), fmt.Sprintf("gone_at: %d", 1+w.d(8)), "fault: " + string(faults[w.d(len(faults))]), fmt.Sprintf("slow: %d.%ds", w.d(8), 1+w.d(9)),
			"lags: " + w.seconds(2, 9), "way: " + w.seconds(1, 8), "shows_on: true",
		})
		scenario = strings.Replace(scenario, "\nnodes:\n", fmt.Sprintf("\nnodes:\n  %q: {%s}\n", id, said), 1)
	}
	if w.one(3) {
		from := 151 + w.d(1500)
		scenario = happening(scenario, from, from+1+w.d(500), fmt.Sprintf("node: %q, silent", w.pick(ids)))
	}
	if m := supplyLine.FindAllStringSubmatch(scenario, -1); w.one(4) {
		from, supply := 60+w.d(1500), m[w.d(len(m))]
		if !strings.Contains(supply[0], "deaf") && !strings.Contains(scenario, "supply: "+supply[1]+", silent") {
			scenario = happening(scenario, from, from+1+w.d(700), fmt.Sprintf("supply: %s, silent", supply[1]))
		}
	}
	return scenario
}

// happening adds that something begins and ends.
func happening(scenario string, from, to int, what string) string {
	return strings.Replace(scenario, "\nevents:\n", fmt.Sprintf("\nevents:\n  - {at: %ds, %s: true}\n  - {at: %ds, %s: false}\n", from, what, to, what), 1)
}

// nearCondition changes what a supply has left, when a node answers wrongly, and how long it takes to answer.
func (w *drawing) nearCondition(line string) string {
	line = battery.ReplaceAllStringFunc(line, func(s string) string {
		key, n, _ := strings.Cut(s, ": ")
		return key + ": " + strconv.Itoa(w.nearby(n, 3, 4, 20))
	})
	line = gone.ReplaceAllStringFunc(line, func(string) string { return fmt.Sprintf("gone_at: %d", 1+w.d(8)) })
	line = lie.ReplaceAllStringFunc(line, func(string) string { return fmt.Sprintf("lies_at: %d", 1+w.d(8)) })
	return slowness.ReplaceAllStringFunc(line, func(s string) string {
		if !w.one(3) {
			return s
		}
		return fmt.Sprintf("slow: %d.%ds", w.d(8), 1+w.d(9))
	})
}

// nearby gives a number that is often the same, mostly at most so far from it, and now and then farther; a percentage stays one.
func (w *drawing) nearby(was string, least, near, far int) int {
	n, err := strconv.Atoi(was)
	if err != nil || w.one(2) {
		return n
	}
	by := near
	if w.one(5) {
		by = far
	}
	moved := max(least, n+w.d(2*by+1)-by)
	if n <= 100 {
		moved = min(moved, 100)
	}
	return moved
}
