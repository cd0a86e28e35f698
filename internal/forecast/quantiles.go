package forecast

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// cells is how finely a table cuts the unit interval. Between its marks a quantile is interpolated.
const cells = 1024

// table holds the quantiles of a distribution at i/cells. The outermost, which may not be finite, are those at a quarter
// of a cell: a draw is never further out.
type table [cells + 1]float64

// at gives the quantile for u of [0,1]: what is longer than every draw could be has 1.
func (t *table) at(u float64) float64 {
	x := u * cells
	i := min(int(x), cells-1)
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

// tabulate makes a table of quantiles.
func tabulate(quantile func(p float64) float64) *table {
	var t table
	for i := range t {
		t[i] = quantile(max(0.25, min(float64(i), cells-0.25)) / cells)
	}
	return &t
}

// tables of a family of distributions are made when they are first asked for: place k is for freedom steps/k, place 0
// for none, which is the limit. The step is so small that the 95th percentile of a run is right within half a percent.
type tables [steps + 1]func() *table

const steps = 128

func newTables(quantile func(freedom, p float64) float64) (made tables) {
	for k := range made {
		made[k] = sync.OnceValue(func() *table {
			return tabulate(func(p float64) float64 { return quantile(steps/float64(k), p) })
		})
	}
	return made
}

func (t *tables) of(freedom float64) *table {
	if freedom <= 0 {
		return t[0]()
	}
	return t[min(steps, int(math.Round(steps/freedom)))]()
}

var (
	// students are t distributions.
	students = newTables(func(freedom, p float64) float64 {
		if math.IsInf(freedom, 1) {
			return distuv.UnitNormal.Quantile(p)
		}
		return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(p)
	})
	// spreads are of the factor that makes a normal distribution such a t distribution: by how much the scale of a
	// sample with that freedom is off the true one.
	spreads = newTables(func(freedom, p float64) float64 {
		if math.IsInf(freedom, 1) {
			return 1
		}
		return math.Sqrt(freedom / distuv.ChiSquared{K: freedom}.Quantile(1-p))
	})
)

// quantiles gives the table of the t distribution with that freedom (0: the normal distribution).
func quantiles(freedom float64) *table { return students.of(freedom) }
