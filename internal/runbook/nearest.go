package runbook

import (
	"cmp"
	"fmt"
	"strings"
)

// nearest finds the known word that was most likely meant, the first of several, or "" if none is close.
func nearest(word string, known []string) string {
	best, longer, least := "", "", 1+allowance(len([]rune(word)))
	w := []rune(strings.ToLower(word))
	for _, k := range known {
		r := []rune(strings.ToLower(k))
		if longer == "" && len(w) >= 3 && strings.HasPrefix(string(r), string(w)) {
			longer = k // "depends" for "depends_on"
		}
		if len(r)-len(w) >= least || len(w)-len(r) >= least {
			continue
		}
		if d := distance(w, r); d < least && d < len(w) {
			best, least = k, d
		}
	}
	return cmp.Or(best, longer)
}

// allowance is how many edits still count as close for a word of n characters.
func allowance(n int) int {
	switch {
	case n <= 3:
		return 1
	case n <= 7:
		return 2
	default:
		return 3
	}
}

// distance is the Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and
// swaps of neighbours.
func distance(a, b []rune) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// mostKnown is how many known words are listed: as many as there are types of nodes, and some more.
const mostKnown = 60

// suggest is the hint for an unknown word: the nearest known one, or all of them.
func suggest(word string, known []string, what string) string {
	if family, kind, dotted := strings.Cut(word, "."); dotted { // by letters "proxmox.host" is next to a guest
		var kinds []string
		for _, k := range known {
			if of, is := strings.CutPrefix(k, family+"."); is {
				kinds = append(kinds, of)
			}
		}
		switch n := nearest(kind, kinds); {
		case n != "":
			return "did you mean " + family + "." + n + "?"
		case len(kinds) > 0:
			return fmt.Sprintf("%s of %s: %s.%s", what, family, family, strings.Join(kinds, ", "+family+"."))
		}
	}
	if n := nearest(word, known); n != "" {
		return "did you mean " + n + "?"
	}
	if len(known) == 0 {
		return "there are no " + what
	}
	if len(known) > mostKnown {
		return what + ": " + strings.Join(known[:mostKnown], ", ") + ", …"
	}
	return what + ": " + strings.Join(known, ", ")
}
