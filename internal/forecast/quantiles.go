package forecast

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// cells is how finely a table cuts the unit interval. Between its marks a quantile is interpolated.
const cells = 1024

// table holds the quantiles of a distribution that is symmetric about 0, at i/cells. The outermost, which are not
// finite, are those at a quarter of a cell: a draw is never further out.
type table [cells + 1]float64

// at gives the quantile for u of [0,1).
func (t *table) at(u float64) float64 {
	x := u * cells
	i := int(x)
	return t[i] + (x-float64(i))*(t[i+1]-t[i])
}

// below gives the share below x: the inverse of at.
func (t *table) below(x float64) float64 {
	if x <= t[0] {
		return 0
	}
	lo, hi := 0, cells // t[lo] < x; x <= t[hi], or hi is the end
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; t[mid] < x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (float64(lo) + min(1, (x-t[lo])/(t[hi]-t[lo]))) / cells
}

// tables are made when they are first asked for: place k is for freedom steps/k, place 0 for the normal distribution.
// The step is so small that the 95th percentile of a run is right within half a percent.
const steps = 128

var tables = func() (made [steps + 1]func() *table) {
	for k := range made {
		made[k] = sync.OnceValue(func() *table {
			if k == 0 {
				return tabulate(distuv.UnitNormal.Quantile)
			}
			return tabulate(distuv.StudentsT{Sigma: 1, Nu: steps / float64(k)}.Quantile)
		})
	}
	return made
}()

// quantiles gives the table of the t distribution with that freedom (0: the normal distribution).
func quantiles(freedom float64) *table {
	if freedom <= 0 {
		return tables[0]()
	}
	return tables[min(steps, int(math.Round(steps/freedom)))]()
}

func tabulate(quantile func(p float64) float64) *table {
	var t table
	t[cells] = quantile(1 - 0.25/cells)
	for i := cells/2 + 1; i < cells; i++ {
		t[i] = quantile(float64(i) / cells)
	}
	for i := range cells / 2 {
		t[i] = -t[cells-i]
	}
	return &t
}
