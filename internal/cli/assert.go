package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/sim"
)

// measure is a figure of a summary that can be asserted.
type measure struct {
	name  string
	share bool // a share of the runs; else a duration in seconds
	means string
	// of gives the figure, unless nothing was measured that could give one.
	of func(*sim.Summary) (figure float64, measured bool)
}

// measures lists what --assert knows.
var measures = []measure{
	{
		"crash", true, "runs in which something lost power while running",
		func(s *sim.Summary) (float64, bool) { return s.Crash.Share, true },
	},
	{"forced", true, "runs with a forced power-off", func(s *sim.Summary) (float64, bool) { return s.Forced.Share, true }},
	{
		"unnecessary", true, "runs that shut down although the batteries would have lasted",
		func(s *sim.Summary) (float64, bool) { return s.Unnecessary.Share, true },
	},
	{
		"stranded", true, "runs in which something did not come back up",
		func(s *sim.Summary) (float64, bool) { return s.Stranded.Share, true },
	},
	{"violations", true, "runs in which a rule was broken", func(s *sim.Summary) (float64, bool) { return s.Violations.Share, true }},
	{"slack", false, "battery time to spare when the shutdown starts, p5", slackOf},
	{"down", false, "time during which anything is down, p95", func(s *sim.Summary) (float64, bool) { return s.Down.P95, true }},
	{
		"back", false, "time from the return of mains until everything is back, p95",
		func(s *sim.Summary) (float64, bool) { return s.Back.P95, true },
	},
}

func slackOf(s *sim.Summary) (float64, bool) {
	for _, stage := range s.Slack {
		if stage.Stage == plan.ShutdownStage {
			return stage.Seconds.P5, stage.Seconds.Count > 0
		}
	}
	return 0, false
}

// assertion is a bound on a measure.
type assertion struct {
	text     string // as it was given
	measure  *measure
	operator string
	limit    float64
}

var assertionForm = regexp.MustCompile(`^\s*([a-z]+)\s*(<=|>=|<|>)\s*(\S+)\s*$`)

func parseAssertion(text string) (assertion, error) {
	var names []string
	for _, m := range measures {
		names = append(names, m.name)
	}
	hint := "write --assert 'crash<=1%' or --assert 'slack>=2m'; the names are " + strings.Join(names, ", ") +
		", the operators <=, >=, < and >"
	parts := assertionForm.FindStringSubmatch(text)
	if parts == nil {
		return assertion{}, fail(exitUsage, hint, "cannot read assertion %q: it needs a name, an operator and a limit", text)
	}
	at := slices.Index(names, parts[1])
	if at < 0 {
		return assertion{}, fail(exitUsage, hint, "cannot read assertion %q: there is no figure named %q", text, parts[1])
	}
	a := assertion{text: text, measure: &measures[at], operator: parts[2]}
	var err error
	if a.limit, err = a.measure.parse(parts[3]); err != nil {
		return assertion{}, fail(exitUsage, hint, "cannot read assertion %q: %w", text, err)
	}
	return a, nil
}

// parse reads a limit: a share as "1%", a duration as "2m". 0 is both.
func (m *measure) parse(text string) (float64, error) {
	if !m.share {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%s needs a duration such as 2m, not %q", m.name, text)
		}
		return d.Seconds(), nil
	}
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent && v != 0 || v < 0 || v > 100 {
		return 0, fmt.Errorf("%s needs a share from 0%% to 100%%, not %q", m.name, text)
	}
	return v / 100, nil
}

// verdictOn is what came of an assertion. What could not be measured did not pass.
type verdictOn struct {
	Assert   string   `json:"assert"`
	Pass     bool     `json:"pass"`
	Measured *float64 `json:"measured"` // a share from 0 to 1, or seconds; null: the stage never began
}

func (a *assertion) judge(s *sim.Summary) verdictOn {
	v, measured := a.measure.of(s)
	if !measured {
		return verdictOn{Assert: a.text}
	}
	pass := false
	switch a.operator {
	case "<=":
		pass = v <= a.limit
	case ">=":
		pass = v >= a.limit
	case "<":
		pass = v < a.limit
	case ">":
		pass = v > a.limit
	}
	return verdictOn{a.text, pass, &v}
}

// judgeAll judges assertions in their order.
func judgeAll(asserts []assertion, s *sim.Summary) []verdictOn {
	verdicts := []verdictOn{}
	for i := range asserts {
		verdicts = append(verdicts, asserts[i].judge(s))
	}
	return verdicts
}

func writeVerdicts(w io.Writer, asserts []assertion, verdicts []verdictOn) {
	for i, v := range verdicts {
		word, found := "FAIL", "not measured: the shutdown never started"
		if v.Pass {
			word = "PASS"
		}
		switch {
		case v.Measured == nil:
		case asserts[i].measure.share:
			found = shareText(*v.Measured)
		default:
			found = spanText(*v.Measured)
		}
		fmt.Fprintf(w, "%s  %s  (%s: %s)\n", word, v.Assert, asserts[i].measure.means, found)
	}
}

func anyFailed(verdicts []verdictOn) bool {
	return slices.ContainsFunc(verdicts, func(v verdictOn) bool { return !v.Pass })
}

// shareText writes a share: 0.4%, 12%.
func shareText(share float64) string {
	return strconv.FormatFloat(100*share, 'f', 1, 64) + "%"
}

// spanText writes a time as people do.
func spanText(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < 0 {
		return "-" + brief(-d)
	}
	return brief(d)
}
