package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is on the agenda comes by time, and at one time in the order in which it was put there, however puts and takes mix.
func TestTheAgendaKeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type item struct {
			at     time.Duration
			number int
		}
		var a agenda
		var naive []item
		came := -1
		for number := range rapid.IntRange(0, 80).Draw(t, "steps") {
			if len(naive) == 0 || rapid.IntRange(0, 2).Draw(t, "put") > 0 {
				at := time.Duration(rapid.IntRange(0, 9).Draw(t, "at"))
				a.put(at, func() { came = number })
				naive = append(naive, item{at, number})
				continue
			}
			first := slices.MinFunc(naive, func(a, b item) int { return int(a.at - b.at) })
			naive = slices.DeleteFunc(naive, func(i item) bool { return i == first })
			at, do := a.next()
			do()
			require.Equal(t, item{at, came}, first)
			require.Len(t, naive, a.len())
		}
	})
}
