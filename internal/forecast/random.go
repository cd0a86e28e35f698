package forecast

import "math"

// mix is the finaliser of splitmix64: a random number for each different x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit makes a number of [0,1) from the upper half of a random one.
func unit(x uint64) float64 { return float64(x>>32) * (1.0 / (1 << 32)) }

func normal(x uint64) float64 { return quantiles(0).at(unit(x)) }

// stream is random numbers one after the other.
type stream uint64

func (s *stream) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	return mix(uint64(*s))
}

func (s *stream) normal() float64 { return normal(s.next()) }

// spread draws by how much the scale of a sample with that freedom is off the true one: what makes a normal
// distribution a t distribution. It is the root of freedom/χ², drawn by the method of Marsaglia and Tsang (2000).
func (s *stream) spread(freedom float64) float64 {
	if freedom <= 0 {
		return 1
	}
	d := max(freedom/2, 1) - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.normal()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if u := 1 - unit(s.next()); math.Log(u) < x*x/2+d*(1-v+math.Log(v)) {
			return math.Sqrt(max(freedom/2, 1) / (d * v))
		}
	}
}
