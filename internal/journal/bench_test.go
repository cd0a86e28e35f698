package journal

import (
	"fmt"
	"path/filepath"
	"testing"

	"ebbtide/internal/ledger"
)

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			j, err := Open(filepath.Join(b.TempDir(), "journal.db"), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close() //nolint:errcheck // the benchmark is over
			if err := j.Append(opened(theOutage)); err != nil {
				b.Fatal(err)
			}
			seq := uint64(1)
			batch := make([]ledger.Record, size)
			for b.Loop() {
				for i := range batch {
					seq++
					batch[i] = step(seq)
				}
				if err := j.Append(batch...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "µs/record")
		})
	}
}
