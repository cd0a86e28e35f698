package power

import (
	"math"
	"slices"
	"time"
)

// The default curve is an offset power law, T = A/(x+x0)^k with the load x as a fraction of nominal. x0 stands for the
// UPS's own consumption (docs/FIGURES.md: 9 to 12% off at worst). k is 1.25.
const ownLoad = 0.08

// powerLaw gives what a second at load x burns, in steps that are exactly rounded each: a greater load never burns less.
func powerLaw(x float64) float64 {
	x = (x + ownLoad) / (1 + ownLoad)
	return x * math.Sqrt(math.Sqrt(x))
}

// curve tells how fast a load burns the battery. A second at full load burns 1.
type curve struct {
	points []Point // ascending, all positive; empty: the power law
	full   float64 // seconds that a full battery lasts at full load; 0: not known
}

func newCurve(points []Point) curve {
	var c curve
	for _, p := range points {
		if p.Load > 0 && p.Time > 0 {
			c.points = append(c.points, p)
		}
	}
	slices.SortStableFunc(c.points, func(a, b Point) int {
		switch {
		case a.Load < b.Load:
			return -1
		case a.Load > b.Load:
			return 1
		}
		return 0
	})
	if len(c.points) > 0 {
		c.full = c.lasts(1)
	}
	return c
}

// lasts gives the seconds that a full battery lasts at load x: between two points a straight line on log-log paper,
// outside of them the power law through the nearest one.
func (c curve) lasts(x float64) float64 {
	after := slices.IndexFunc(c.points, func(p Point) bool { return p.Load/100 >= x })
	switch {
	case after == 0:
		return beyond(c.points[0], x)
	case after < 0:
		return beyond(c.points[len(c.points)-1], x)
	}
	a, b := c.points[after-1], c.points[after]
	part := math.Log(x/(a.Load/100)) / math.Log(b.Load/a.Load)
	return math.Exp(math.Log(a.Time.Seconds()) + part*math.Log(b.Time.Seconds()/a.Time.Seconds()))
}

func beyond(p Point, x float64) float64 {
	return p.Time.Seconds() * powerLaw(p.Load/100) / powerLaw(x)
}

// rate gives what a second at load x burns.
func (c curve) rate(x float64) float64 {
	if len(c.points) == 0 {
		return powerLaw(x)
	}
	return c.full / c.lasts(x)
}

// Curve is a supply's runtime curve, for whoever reckons with a battery outside of this package. A load is a share of
// the supply's nominal one.
type Curve struct{ curve curve }

// NewCurve makes the curve through points, in any order; without any it is the default power law.
func NewCurve(points []Point) Curve { return Curve{newCurve(points)} }

// Rate tells how fast a load burns the battery: a second at full load burns 1, one at a lower load less.
func (c Curve) Rate(load float64) float64 { return c.curve.rate(load) }

// Lasts tells how long a full battery lasts at a load; 0 if there are no points to tell it by.
func (c Curve) Lasts(load float64) time.Duration {
	if len(c.curve.points) == 0 {
		return 0
	}
	return time.Duration(c.curve.lasts(load) * float64(time.Second))
}

// Least tells what is counted on of a full battery that no discharge has proven; 0 if there are no points to tell it by.
func (c Curve) Least(load float64) time.Duration {
	return time.Duration(float64(c.Lasts(load)) * lowFactor(sheetSigma))
}
