package forecast

import "math/bits"

// bitset is a set of small numbers whose least is found by looking at three words: members, words with members, and
// words of those. (Beyond 262,144 numbers the topmost words are looked through.)
type bitset struct {
	leaf, mid, top []uint64
}

func newBitset(n int) bitset {
	leaf := (n + 63) / 64
	mid := (leaf + 63) / 64
	top := (mid + 63) / 64
	words := make([]uint64, leaf+mid+top)
	return bitset{words[:leaf], words[leaf : leaf+mid], words[leaf+mid:]}
}

func (b *bitset) add(i int32) {
	b.leaf[i>>6] |= 1 << (i & 63)
	b.mid[i>>12] |= 1 << (i >> 6 & 63)
	b.top[i>>18] |= 1 << (i >> 12 & 63)
}

func (b *bitset) remove(i int32) {
	if b.leaf[i>>6] &^= 1 << (i & 63); b.leaf[i>>6] != 0 {
		return
	}
	if b.mid[i>>12] &^= 1 << (i >> 6 & 63); b.mid[i>>12] != 0 {
		return
	}
	b.top[i>>18] &^= 1 << (i >> 12 & 63)
}

// least gives the smallest member, -1 if there is none.
func (b *bitset) least() int32 {
	for t, word := range b.top {
		if word != 0 {
			m := t<<6 | bits.TrailingZeros64(word)
			l := m<<6 | bits.TrailingZeros64(b.mid[m])
			return int32(l<<6 | bits.TrailingZeros64(b.leaf[l]))
		}
	}
	return -1
}
