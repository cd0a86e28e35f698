package power

import "math"

// The tables here are of functions that rise, with straight lines between their marks: what comes out never falls where
// what goes in rises. Package math is more exact, but does not promise that, and is slower.

const (
	// certain is the chance of what is certain. Chances are whole numbers of parts of it, whose sums are exact.
	certain = 1 << 40

	marks      = 256 // of the normal distribution, in one standard deviation
	marksReach = 7   // deviations either way: beyond it what is left is less than two parts in a million millions
	octave     = 1024
)

// normals are the shares of a normal distribution below each mark.
var normals = func() (t [2*marksReach*marks + 1]float64) {
	for i := range t {
		t[i] = certain / 2 * math.Erfc(-(float64(i)/marks-marksReach)/math.Sqrt2)
		t[i] = max(t[i], t[max(0, i-1)])
	}
	return t
}()

// normalShare is the share of a normal distribution that lies below so many standard deviations, in parts of certain. It
// is off by less than one in a million: a line between marks h apart is off by less than h²/8 times the greatest second
// derivative, which is 0.242.
func normalShare(deviations float64) int64 {
	x := (deviations + marksReach) * marks
	switch {
	case !(x > 0): // or not a number: nobody is afraid
		return 0
	case x >= float64(len(normals)-1):
		return certain
	}
	i := int(x)
	return int64(min(normals[i]+(x-float64(i))*(normals[i+1]-normals[i]), normals[i+1]))
}

// logs are the logarithms of the numbers from a half to one.
var logs = func() (t [octave + 1]float64) {
	for i := range t {
		t[i] = math.Log2(0.5 + float64(i)/(2*octave))
	}
	return t
}()

// log2 is the logarithm of x to the base 2, off by less than one in five millions: the second derivative is at most
// 4/ln 2. It is -Inf for 0 and below, and exact for powers of two.
func log2(x float64) float64 {
	switch {
	case !(x > 0):
		return math.Inf(-1)
	case x < least:
		return log2(x*(1<<52)) - 52
	case x > math.MaxFloat64:
		return x
	}
	bits := math.Float64bits(x)
	exponent, i, rest := int(bits>>52)-1022, bits>>42&(octave-1), float64(bits&(1<<42-1))*0x1p-42
	return float64(exponent) + min(logs[i]+rest*(logs[i+1]-logs[i]), logs[i+1])
}

// least is the least number with all its digits.
const least = 0x1p-1022
