package dst_test

import (
	"syscall"
	"testing"
	"time"

	"ebbtide/internal/sim"
	"ebbtide/test/dst"
)

// BenchmarkCampaign tells how many seeds a campaign plays in a second of processor time: a night is drawn, read, compiled,
// played and judged. The seeds are the same each time. Run it with -cpu 1.
func BenchmarkCampaign(b *testing.B) {
	const first, seeds = 1000, 100
	played, events, began := 0, 0, processor()
	for b.Loop() {
		_, r, err := playWith(sim.Check, dst.Draw(dst.Seeded(first+uint64(played%seeds))))
		if err != nil {
			b.Fatal(err)
		}
		played, events = played+1, events+r.Events
	}
	spent := (processor() - began).Seconds()
	b.ReportMetric(float64(played)/spent, "seeds/cpu-s")
	b.ReportMetric(spent*1e9/float64(events), "cpu-ns/event")
}

// processor gives the processor time that this process has used. Unlike the wall clock it does not count neighbours.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
