package dst

// Tape is the dice of a draw as they fell.
type Tape []int

// Record gives dice that write down how those of a seed fall.
func (t *Tape) Record(d Dice) Dice {
	return func(n int) int {
		v := d(n)
		*t = append(*t, v)
		return v
	}
}

// Replay gives dice that fall as written; past the end, and where they can't, they fall as simply as they can.
func (t Tape) Replay() Dice {
	at := 0
	return func(n int) int {
		at++
		if at > len(t) {
			return 0
		}
		return min(t[at-1], n-1)
	}
}

// Shrink looks for a smaller scenario, drawn with the same factor of faults, that still fails, in at most so many tries: parts of the tape
// are left out, then fall as simply as they can, then lower. (The property-testing library that the other laws use takes its seed from a
// flag of the whole process, so it can't play seeds side by side, nor one of them alone.)
func Shrink(tape Tape, faults, tries int, fails func(text string) bool) string {
	try := func(t Tape) bool {
		if tries--; tries < 0 || !fails(DrawWith(t.Replay(), faults)) {
			return false
		}
		tape = t
		return true
	}
	for shrunk := true; shrunk && tries > 0; {
		shrunk = false
		for size := len(tape) / 2; size > 0; size /= 2 {
			for at := 0; at+size <= len(tape); {
				without := append(append(Tape{}, tape[:at]...), tape[at+size:]...)
				if try(without) {
					shrunk = true
					continue
				}
				at += size
			}
		}
		for at := range tape {
			for tape[at] > 0 {
				lower := append(Tape{}, tape...)
				if lower[at] = 0; try(lower) {
					shrunk = true
					break
				}
				lower = append(Tape{}, tape...)
				if lower[at] = tape[at] / 2; !try(lower) {
					break
				}
				shrunk = true
			}
		}
	}
	return DrawWith(tape.Replay(), faults)
}
