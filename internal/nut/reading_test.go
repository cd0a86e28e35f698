package nut_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/nut"
	"ebbtide/internal/power"
)

func read(vars ...string) power.Reading {
	var all []nut.Var
	for i := 0; i+1 < len(vars); i += 2 {
		all = append(all, nut.Var{Name: vars[i], Value: vars[i+1]})
	}
	return nut.ReadingFrom("a", all)
}

// Values as they stand in device dumps, and what is made of them.
func TestReadingDropsWhatCanNotBeTrue(t *testing.T) {
	figures := map[string]func(power.Reading) power.Figure{
		"battery.charge":        func(r power.Reading) power.Figure { return r.Charge },
		"battery.runtime":       func(r power.Reading) power.Figure { return r.Runtime },
		"ups.load":              func(r power.Reading) power.Figure { return r.Load },
		"input.voltage":         func(r power.Reading) power.Figure { return r.Voltage },
		"input.transfer.low":    func(r power.Reading) power.Figure { return r.TransferLow },
		"input.voltage.nominal": func(r power.Reading) power.Figure { return r.Nominal },
		"battery.runtime.low":   func(r power.Reading) power.Figure { return r.RuntimeLow },
		"ups.temperature":       func(r power.Reading) power.Figure { return r.Temperature },
		"battery.temperature":   func(r power.Reading) power.Figure { return r.Temperature },
	}
	unknown := power.Figure{}
	for _, c := range []struct {
		name, value string
		want        power.Figure
		with        []string
	}{
		{"battery.charge", "100", power.Known(100), nil},
		{"battery.charge", "087.5", power.Known(87.5), nil},
		{"battery.charge", "0", power.Known(0), nil},
		{"battery.charge", "102.3", power.Known(100), nil},
		{"battery.charge", "120.0", power.Known(100), nil},
		{"battery.charge", "255\t#BAD: The value is not correct.", unknown, nil},
		{"battery.charge", "1000\t#BAD: +1000+ is 100%", unknown, nil},
		{"battery.charge", "-197.6", unknown, nil},
		{"battery.charge", "", unknown, nil},
		{"battery.charge", "NaN", unknown, nil},
		{"battery.charge", "Inf", unknown, nil},
		{"battery.runtime", "00687", power.Known(687), nil},
		{"battery.runtime", "65535\t#BAD: overflow?", unknown, nil},
		{"battery.runtime", "3932100", unknown, nil},
		{"battery.runtime", "-1", unknown, nil},
		{"battery.runtime", "36:00", unknown, nil},
		{"battery.runtime", "0.00", unknown, nil},
		{"battery.runtime", "0", unknown, []string{"ups.status", "OB", "battery.charge", "95"}},
		{"battery.runtime", "0", power.Known(0), []string{"ups.status", "OB", "battery.charge", "3"}},
		{"battery.runtime", "0", power.Known(0), []string{"ups.status", "OB LB", "battery.charge", "95"}},
		{"battery.runtime", "100000", unknown, nil},
		{"battery.runtime", "100000", unknown, []string{"ups.load", "11"}},
		{"battery.runtime", "100000", power.Known(100000), []string{"ups.load", "4"}},
		{"ups.load", "0", power.Known(0), nil},
		{"ups.load", "0", unknown, []string{"ups.realpower", "310"}},
		{"ups.load", "150.00\t\t\t#BAD: this value should show as 15% load", power.Known(150), nil},
		{"ups.load", "520\t#BAD: +520+ is 52%", unknown, nil},
		{"ups.load", "562020", unknown, nil},
		{"input.voltage", "229.9", power.Known(229.9), nil},
		{"input.voltage", "0.0\t#BAD: Not zero with NUT v2.7.4 on same HW", unknown, nil},
		{"input.voltage", "0.0", power.Known(0), []string{"ups.status", "OB"}},
		{"input.voltage", "-159357104.0", unknown, nil},
		{"input.voltage", "2320.0", unknown, nil},
		{"input.voltage", "1.2", unknown, []string{"input.voltage.nominal", "230"}},
		{"input.voltage", "405.4", unknown, []string{"input.voltage.nominal", "230"}},
		{"input.voltage", "150", power.Known(150), []string{"input.voltage.nominal", "230"}},
		{"input.transfer.low", "170", power.Known(170), []string{"input.voltage.nominal", "230"}},
		{"input.transfer.low", "-96", unknown, nil},
		{"input.transfer.low", "0\t#BAD: may be a scaling issue", unknown, nil},
		{"input.transfer.low", "340", unknown, []string{"input.voltage.nominal", "230"}},
		{"input.voltage.nominal", "230", power.Known(230), nil},
		{"input.voltage.nominal", "0", unknown, nil},
		{"battery.runtime.low", "120", power.Known(120), nil},
		{"battery.runtime.low", "0", unknown, nil},
		{"ups.temperature", "302.0\t#BAD", unknown, nil},
		{"ups.temperature", "XX.X", unknown, nil},
		{"ups.temperature", "25.0 #BAD: does not change.", power.Known(25), nil},
		{"battery.temperature", "-272.0", unknown, nil},
		{"battery.temperature", "31", power.Known(31), []string{"ups.temperature", "29", "ambient.temperature", "22"}},
	} {
		got := figures[c.name](read(append([]string{"ups.status", "OL", c.name, c.value}, c.with...)...))
		require.Equal(t, c.want, got, "%s %q with %q", c.name, c.value, c.with)
	}
}

// The words of drivers, as they stand in device dumps and in NUT's sources.
func TestReadingOfAFailedTest(t *testing.T) {
	for result, failed := range map[string]bool{
		"Done and error": true, "Failed": true, "NG": true, "BT": true, "Battery failure\t#BAD": true,
		"Done and passed": false, "Done and warning": false, "No test initiated": false, "NO": false, "Ok": false, "In progress": false,
		"Aborted": false, "InvalidTest": false, "Unknown": false, "0": false, "": false, "Passed, Source: Internal": false,
	} {
		require.Equal(t, failed, read("ups.status", "OL", "ups.test.result", result).TestFailed, result)
	}
}

// What a UPS says of its mains, as upsd tells it, and what the tracker makes of it: the words alone can be wrong either way, and so can a
// sensor.
func TestMainsAsUpsdTellsThem(t *testing.T) {
	const sensor, none = "228.0", ""
	for _, c := range []struct {
		before  string // the voltage while it was plainly on line
		vars    []string
		failing bool
	}{
		{sensor, []string{"ups.status", "OL DISCHRG", "input.voltage", "0.0", "input.voltage.nominal", "230"}, true},
		{sensor, []string{"ups.status", "OL DISCHRG", "input.voltage", "12.0"}, true}, // sense leads that float
		{sensor, []string{"ups.status", "OL CAL DISCHRG", "input.voltage", "0.0"}, true},
		{sensor, []string{"ups.status", "OL LB", "input.voltage", "0.0", "input.voltage.nominal", "230"}, true},
		// Dell Rack Tower 2700W, on line
		{sensor, []string{"ups.status", "OL DISCHRG", "input.voltage", "228.0", "input.voltage.nominal", "230"}, false},
		// HP R5500 XR, on line
		{sensor, []string{"ups.status", "OL DISCHRG"}, false},
		{"5.0", []string{"ups.status", "OL LB", "input.voltage", "5.022"}, false}, // PiJuice HAT
		{"0.0", []string{"ups.status", "OL LB", "input.voltage", "0.0"}, false},   // no sensor
		// APC Back-UPS XS 1200
		{none, []string{"ups.status", "OL LB OVER RB BOOST", "input.voltage", "1.0", "input.voltage.nominal", "1"}, false},
	} {
		tracker, now := power.NewTracker(power.Supply{ID: "a"}), time.Unix(0, 0)
		if c.before != none {
			tracker.Observe(now, read("ups.status", "OL", "input.voltage", c.before))
		}
		tracker.Observe(now.Add(time.Second), read(c.vars...))
		require.Equal(t, c.failing, tracker.State(now.Add(time.Second)).Failing(), "%q", c.vars)
	}
}

func TestReadingStatus(t *testing.T) {
	for text, want := range map[string]power.Status{
		"OL CHRG":  power.OL | power.CHRG,
		" ol  lb ": power.OL | power.LB,
		"OL OFF #BAD: not really off, says OB LB":   power.OL | power.OFF,
		"#BAD: 'ups.status' is always empty":        0,
		"OL ECO HE":                                 power.OL,
		"OL CAL #COMMENT: just after `test.battery": power.OL | power.CAL,
	} {
		require.Equal(t, want, read("ups.status", text).Status, text)
	}
	require.Equal(t, power.Reading{Supply: "a"}, read())
}

// figures are the variables of which Ebbtide makes figures, and the figure that each must give.
var figures = []struct {
	name string
	of   func(power.Reading) power.Figure
}{
	{"ups.status", func(r power.Reading) power.Figure { return power.Figure{Known: r.Status != 0} }},
	{"battery.charge", func(r power.Reading) power.Figure { return r.Charge }},
	{"battery.runtime", func(r power.Reading) power.Figure { return r.Runtime }},
	{"battery.runtime.low", func(r power.Reading) power.Figure { return r.RuntimeLow }},
	{"ups.load", func(r power.Reading) power.Figure { return r.Load }},
	{"ups.realpower", nil}, // tells a load of 0 that can't be true
	{"input.voltage", func(r power.Reading) power.Figure { return r.Voltage }},
	{"input.voltage.nominal", func(r power.Reading) power.Figure { return r.Nominal }},
	{"input.transfer.low", func(r power.Reading) power.Figure { return r.TransferLow }},
	{"ups.temperature", func(r power.Reading) power.Figure { return r.Temperature }},
	{"battery.temperature", func(r power.Reading) power.Figure { return r.Temperature }},
	{"ambient.temperature", func(r power.Reading) power.Figure { return r.Temperature }},
}

// Every device dump that we have gives a reading without an absurd figure.
func TestReadingOfEveryDump(t *testing.T) {
	folder, asked := os.LookupEnv("EBBTIDE_NUT_DDL")
	if !asked {
		folder = "../../../shared/nut-ddl"
	}
	if _, err := os.Stat(folder); err != nil {
		require.False(t, asked, "EBBTIDE_NUT_DDL: %v", err)
		t.Skipf("SKIPPED, no device dumps at %s: set EBBTIDE_NUT_DDL to a copy of networkupstools/nut-ddl", folder)
	}
	files := 0
	missing, absurd := map[string]int{}, map[string]int{}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".dev") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		vars := parseDump(string(data))
		r := nut.ReadingFrom("a", vars)
		plausible(t, path, r)
		for _, f := range figures {
			switch {
			case !slices.ContainsFunc(vars, func(v nut.Var) bool { return v.Name == f.name }):
				missing[f.name]++
			case f.of != nil && !f.of(r).Known:
				absurd[f.name]++
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 100)
	t.Logf("%d dumps read", files)
	for _, f := range figures {
		t.Logf("%-22s missing in %3d, dropped as absurd in %2d", f.name, missing[f.name], absurd[f.name])
		require.Less(t, missing[f.name], files, "no dump has it: is its name right?")
	}
}

// parseDump reads "name: value" lines; those that begin with # are remarks.
func parseDump(text string) []nut.Var {
	var vars []nut.Var
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if found && !strings.HasPrefix(name, "#") {
			vars = append(vars, nut.Var{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
		}
	}
	return vars
}

func plausible(t *testing.T, path string, r power.Reading) {
	t.Helper()
	require.Equal(t, power.Fresh, r.Link)
	for _, c := range []struct {
		what        string
		f           power.Figure
		least, most float64
	}{
		{"charge", r.Charge, 0, 100},
		{"runtime", r.Runtime, 0, 7 * 24 * 3600},
		{"load", r.Load, 0, 200},
		{"voltage", r.Voltage, 0, 1000},
		{"nominal voltage", r.Nominal, 5, 1000},
		{"transfer voltage", r.TransferLow, 1, 1000},
		{"temperature", r.Temperature, -20, 120},
		{"runtime of LB", r.RuntimeLow, 1, 24 * 3600},
	} {
		if c.f.Known {
			require.GreaterOrEqual(t, c.f.Value, c.least, "%s of %s", c.what, path)
			require.LessOrEqual(t, c.f.Value, c.most, "%s of %s", c.what, path)
		} else {
			require.Zero(t, c.f.Value)
		}
	}
	for _, sentinel := range []float64{65535, 3932100} {
		require.NotEqual(t, sentinel, r.Runtime.Value, path)
	}
	// No UPS of the dumps would be taken down on the spot: those that say on battery at least stay undecided.
	tracker := power.NewTracker(power.Supply{ID: "a"})
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	tracker.Observe(now, r)
	require.False(t, tracker.State(now).LowBattery, path)
}
