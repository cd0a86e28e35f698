package dst_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/test/dst"
)

var kills = flag.Int("dst.kills", 200, "in how many of the known worlds Ebbtide is killed at another record; 0: in all, at each, and away for a little, a while and long")

// kill is a known world in which Ebbtide is killed at a record of its own, and nowhere else.
type kill struct {
	world
	record int
	away   string
}

func (k *kill) scenario() string { return dst.Killed(k.text, k.record, k.away) }

func (k *kill) String() string {
	return fmt.Sprintf("%s, killed at record %d and away for %s", k.name, k.record, k.away)
}

// TestKilledInKnownWorlds kills Ebbtide at records of the worlds that once broke a rule: whatever is between two records that belong
// together shows there. The worlds that break one are written to -dst.keep.
func TestKilledInKnownWorlds(t *testing.T) {
	t.Parallel()
	all := killings(t)
	if *kills > 0 {
		first, why := begin(t)
		t.Logf("the sample begins at %d (%s)", first, why)
		chance := rand.New(rand.NewPCG(first, 1))
		chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:min(*kills, len(all))]
	}
	jobs := make(chan *kill)
	var players sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		players.Go(func() {
			for k := range jobs {
				r, err := play(k.scenario())
				if err != nil || len(r.Violations) == 0 {
					continue
				}
				name := strings.TrimSuffix(filepath.Base(k.name), ".yaml")
				path := filepath.Join(*keep, fmt.Sprintf("ebbtide-%s-%d-%s.yaml", name, k.record, k.away))
				_ = os.WriteFile(path, []byte(k.scenario()), 0o600)
				t.Errorf("%s: rule %s\nebbtide simulate --scenario %s", k, r.Violations[0], path)
			}
		})
	}
	for i := range all {
		jobs <- &all[i]
	}
	close(jobs)
	players.Wait()
	t.Logf("%d worlds", len(all))
}

// killings lists every way to be killed once in a known world. It may have more records then, of which a few are tried.
func killings(t *testing.T) []kill {
	const more = 10
	var all []kill
	for _, w := range known() {
		r, err := play(w.text)
		require.NoError(t, err, w.name)
		for at := 1; at <= len(r.Records)+more; at++ {
			for _, away := range []string{"100ms", "10s", "90s", "8m"} {
				all = append(all, kill{w, at, away})
			}
		}
	}
	return all
}
