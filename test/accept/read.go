package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// campaignTold is what a campaign says of itself.
type campaignTold struct {
	from, seeds int
	took        float64 // seconds
	broken      []string
	leftOn      int // nights in which storage was lost that could have been stopped
}

var (
	firstSeed = regexp.MustCompile(`the first seed is (\d+)`)
	howMany   = regexp.MustCompile(`(\d+) seeds, \d+ events, (\d+) seeds broke a rule`)
	itTook    = regexp.MustCompile(`--- (?:PASS|FAIL): TestCampaign \(([\d.]+)s\)`)
	leftOn    = regexp.MustCompile(`(\d+) nights in which storage lost its power that could have been stopped`)
	brokenOne = regexp.MustCompile(`: (seed \d+: .*)`)
	ofBeside  = regexp.MustCompile(`(\d+) nights, of which (\d+) came to something worse`)
	ofNights  = regexp.MustCompile(`(\d+) nights from \d+: (\d+) in which something that answers is not back, (\d+) that break a rule`)
	badNight  = regexp.MustCompile(`\S+, night \d+.*`)
	ofBug     = regexp.MustCompile(`--- (PASS|FAIL): TestBugsAreCaught/(\S+)`)
	badKill   = regexp.MustCompile(`(?m)^(?:kill after .*(?:BROKEN|ANOTHER END STATE|, [1-9]\d* repeated).*|.*Error:.*)$`)
	ofPoint   = regexp.MustCompile(`--- (PASS|FAIL): \S+/\S+`)
)

func readCampaign(out string) (campaignTold, error) {
	from, many, took := firstSeed.FindStringSubmatch(out), howMany.FindStringSubmatch(out), itTook.FindStringSubmatch(out)
	if from == nil || many == nil || took == nil {
		return campaignTold{}, fmt.Errorf("the campaign did not end:\n%s", out)
	}
	var told campaignTold
	told.from, _ = strconv.Atoi(from[1])
	told.seeds, _ = strconv.Atoi(many[1])
	told.took, _ = strconv.ParseFloat(took[1], 64)
	if m := leftOn.FindStringSubmatch(out); m != nil {
		told.leftOn, _ = strconv.Atoi(m[1])
	}
	for _, m := range brokenOne.FindAllStringSubmatch(out, -1) {
		told.broken = append(told.broken, m[1])
	}
	if n, _ := strconv.Atoi(many[2]); n != len(told.broken) {
		return told, fmt.Errorf("the campaign counts %d broken nights and names %d", n, len(told.broken))
	}
	return told, nil
}

// readApply gives the mean of an event on an estate of so many nodes, as the benchmark prints it.
func readApply(out, nodes string) (string, bool, error) {
	most := map[string]float64{"1000": 5, "10000": 10, "100000": 20}
	value, err := readFigure(out, "engine_apply_"+nodes+"_nodes")
	return fmt.Sprintf("%.1f µs", value), value <= most[nodes], err
}

// readFigure gives a figure that a benchmark prints.
func readFigure(out, name string) (float64, error) {
	for line := range strings.Lines(out) {
		var f struct {
			Figure string
			Value  float64
		}
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &f) == nil && f.Figure == name {
			return f.Value, nil
		}
	}
	return 0, fmt.Errorf("no figure %s:\n%s", name, out)
}

func readBugs(out string) (caught int, missed []string) {
	for _, m := range ofBug.FindAllStringSubmatch(out, -1) {
		if m[1] == "PASS" {
			caught++
		} else {
			missed = append(missed, m[2])
		}
	}
	return caught, missed
}

func readNights(out string) (estates, played, away, wrong int, err error) {
	for _, m := range ofNights.FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(m[2])
		w, _ := strconv.Atoi(m[3])
		played, _ = strconv.Atoi(m[1])
		estates, away, wrong = estates+1, away+n, wrong+w
	}
	if estates == 0 {
		err = fmt.Errorf("no night was played:\n%s", out)
	}
	return estates, played, away, wrong, err
}

// readBeside counts the nights in which one thing happened beside an outage, and those that came to something worse for that.
func readBeside(out string) (played, worse int) {
	for _, m := range ofBeside.FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(m[1])
		w, _ := strconv.Atoi(m[2])
		played, worse = played+n, worse+w
	}
	return played, worse
}

// readCrash counts the points at which the daemon was killed: subtests that have none of their own.
func readCrash(out string) (passed, failed int) {
	names := map[string]bool{}
	for _, m := range ofPoint.FindAllString(out, -1) {
		names[m] = true
	}
	for name := range names {
		_, path, _ := strings.Cut(name, ": ")
		leaf := true
		for other := range names {
			_, longer, _ := strings.Cut(other, ": ")
			leaf = leaf && !strings.HasPrefix(longer, path+"/")
		}
		switch {
		case !leaf:
		case strings.Contains(name, "PASS"):
			passed++
		default:
			failed++
		}
	}
	return passed, failed
}
