// Accept measures what the engine must show (docs/adr/0016), or the program as a whole, each figure by the tests of this
// repository, and prints a line a figure: what is wanted, and what was got. `make accept` and `make accept-house` run it. It
// ends with 1 if a figure is not met.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

var (
	seeds  = flag.Int("seeds", 100_000, "drawn nights of each campaign")
	nights = flag.Int("nights", 10_000, "drawn nights of each example estate")
	house  = flag.Bool("house", false, "measure the program as a whole, and not the engine")
	only   = flag.String("only", "", "measure only the figures with this in their name")
)

func main() {
	flag.Parse()
	all := figures(*seeds, *nights)
	if *house {
		all = ofTheHouse()
	}
	fmt.Printf("%-58s %-16s %-24s %s\n", "FIGURE", "WANTED", "GOT", "")
	met := true
	for _, f := range all {
		if !strings.Contains(f.name, *only) {
			continue
		}
		began := time.Now()
		got, ok, err := f.measure()
		word := "met"
		switch {
		case err != nil:
			got, word, ok = "-", "could not be measured: "+err.Error(), false
		case !ok:
			word = "NOT MET"
		}
		met = met && ok
		fmt.Printf("%-58s %-16s %-24s %s (%s)\n", f.name, f.wanted, got, word, time.Since(began).Round(time.Second))
	}
	if !met {
		os.Exit(1)
	}
}

// figure is one line: its name, what is wanted, and how it is measured.
type figure struct {
	name, wanted string
	measure      func() (got string, met bool, err error)
}

// ofTheSource are the figures that are read off the source; `make test` holds them too.
func ofTheSource() []figure {
	return []figure{
		{"lines of internal/engine without tests", "<= 3500", atMost(linesOfEngine, 3500)},
		{"lines of the largest package of what decides", "<= 3500", atMost(linesOfLargest, 3500)},
		{"fields of the largest struct of those", "<= 15", atMost(shapes(deciding, mostFields), 15)},
		{"bools in one struct of theirs, at most", "<= 3", atMost(shapes(deciding, mostBools), 3)},
		{"lines of their longest function", "<= 60", atMost(shapes(deciding, longest), 60)},
		{"cyclomatic complexity of theirs, at most", "<= 15", atMost(shapes(deciding, mostBranches), 15)},
	}
}

func figures(seeds, nights int) []figure {
	list := append(ofTheSource(), []figure{
		{"live ledger = replayed ledger, after every event", "always", checked},
		{"Apply, 1,000 nodes, mean", "<= 5 µs", apply("1000")},
		{"Apply, 10,000 nodes, mean", "<= 10 µs", apply("10000")},
		{"Apply, 100,000 nodes, mean", "<= 20 µs", apply("100000")},
		{"seeded bugs caught, each within 2,000 seeds", ">= 60, all", bugs},
		{"drawn nights of the examples: what answers is back", "0 not back", nightsOf(nights)},
		{"one thing beside an outage of the examples", "0 worse for it", beside},
	}...)
	for _, faults := range []int{1, 1, 1, 2, 2, 2} {
		name := fmt.Sprintf("violations in %d drawn nights", seeds)
		if faults > 1 {
			name += ", each fault twice as often"
		}
		list = append(list, figure{name, "0; storage left on in 1 of 1,000", campaign(seeds, faults)})
	}
	return append(list,
		figure{"drawn nights a second and core, and of one that had 145", ">= 150, 1.03 ×", speed},
		figure{"kill -9 after every record, and twice: all points", "all", crash},
		figure{"the same once more", "all", crash})
}

// run runs a test of a package and gives what it prints, whether it passed or not.
func run(pkg, test string, args ...string) (string, error) { return runIn(".", pkg, test, args...) }

// runIn is run for another source tree.
func runIn(dir, pkg, test string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "go",
		append([]string{"test", pkg, "-run", test, "-v", "-count=1", "-timeout", "3h", "-args"}, args...)...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var out strings.Builder
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		out.WriteString(line)
		if err == io.EOF {
			break
		}
		if err != nil {
			return out.String(), err
		}
	}
	_ = cmd.Wait() // what it says is judged, not whether it is pleased
	if !strings.Contains(out.String(), "--- ") {
		return out.String(), fmt.Errorf("%s %s ran nothing:\n%s", pkg, test, out.String())
	}
	return out.String(), nil
}

func campaign(seeds, faults int) func() (string, bool, error) {
	return func() (string, bool, error) {
		out, err := run("./test/dst", "^TestCampaign$", "-dst.random", "-dst.check", "50", "-dst.shrink", "0", "-dst.broken", "0",
			"-dst.seeds", fmt.Sprint(seeds), "-dst.faults", fmt.Sprint(faults))
		if err != nil {
			return "", false, err
		}
		told, err := readCampaign(out)
		if err != nil {
			return "", false, err
		}
		for _, line := range told.broken {
			fmt.Fprintln(os.Stderr, line)
		}
		isMet := len(told.broken) == 0 && told.seeds == seeds && told.leftOn <= 2+seeds/1000
		return fmt.Sprintf("%d, from %d; storage left on in %d", len(told.broken), told.from, told.leftOn), isMet, nil
	}
}

// checked has the engine held against its own records after each event of some hundred nights.
func checked() (string, bool, error) {
	out, err := run("./test/dst", "^TestCampaign$", "-dst.random", "-dst.check", "1", "-dst.shrink", "0", "-dst.broken", "0",
		"-dst.seeds", "500")
	if err != nil {
		return "", false, err
	}
	told, err := readCampaign(out)
	if err != nil {
		return "", false, err
	}
	differ := 0
	for _, line := range told.broken {
		if strings.Contains(line, ": 7: ") {
			differ++
		}
	}
	return fmt.Sprintf("%d of %d nights differ", differ, told.seeds), differ == 0, nil
}

// applied is what the benchmark of Apply prints, for all sizes.
var applied = sync.OnceValues(func() (string, error) { return run("./test/bench", "^TestApply$", "-figures") })

func apply(nodes string) func() (string, bool, error) {
	return func() (string, bool, error) {
		out, err := applied()
		if err != nil {
			return "", false, err
		}
		return readApply(out, nodes)
	}
}

func bugs() (string, bool, error) {
	out, err := run("./test/dst", "^TestBugsAreCaught$", "-dst.bugs", "all")
	if err != nil {
		return "", false, err
	}
	caught, missed := readBugs(out)
	for _, name := range missed {
		fmt.Fprintln(os.Stderr, "not caught: "+name)
	}
	return fmt.Sprintf("%d of %d", caught, caught+len(missed)), caught >= 60 && len(missed) == 0, nil
}

func nightsOf(nights int) func() (string, bool, error) {
	return func() (string, bool, error) {
		out, err := run("./test/dst", "^TestNights$", "-dst.lost", "0", "-dst.nights", fmt.Sprint(nights))
		if err != nil {
			return "", false, err
		}
		for _, night := range badNight.FindAllString(out, -1) {
			fmt.Fprintln(os.Stderr, night)
		}
		estates, played, away, wrong, err := readNights(out)
		return fmt.Sprintf("%d, of %d × %d; %d wrong", away, estates, played, wrong), away == 0 && wrong == 0, err
	}
}

func beside() (string, bool, error) {
	out, err := run("./test/dst", "^TestOneThingBeside$", "-dst.moments", "20")
	if err != nil {
		return "", false, err
	}
	played, worse := readBeside(out)
	return fmt.Sprintf("%d of %d", worse, played), played > 0 && worse == 0, nil
}

func crash() (string, bool, error) {
	out, err := run("./test/crash", "KilledAtAnyRecord", "-whole")
	if err != nil {
		return "", false, err
	}
	passed, failed := readCrash(out)
	for _, line := range badKill.FindAllString(out, -1) {
		fmt.Fprintln(os.Stderr, line)
	}
	return fmt.Sprintf("%d of %d", passed, passed+failed), passed > 0 && failed == 0, nil
}
