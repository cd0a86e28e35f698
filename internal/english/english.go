// Package english writes what people read alike everywhere: how many there are of a thing, a few names of many, how long something took.
package english

import (
	"fmt"
	"strings"
)

// Count writes a number with what is counted: "1 node", "12 nodes". A noun whose plural is not its singular with an "s" gives both.
func Count[N int | int64](n N, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	default:
		return fmt.Sprintf("%d %ss", n, one)
	}
}

// CountAre writes a number with what is counted and its verb: "1 VM is", "12 VMs are".
func CountAre(n int, one string, many ...string) string {
	if n == 1 {
		return Count(n, one, many...) + " is"
	}
	return Count(n, one, many...) + " are"
}

// List writes names as a cell of a table has them, the first of more than most: "a, b, c", "a, b and 12 more".
func List(names []string, most int) string {
	shown, more := few(names, most)
	return strings.Join(shown, ", ") + more
}

// Series writes names as a sentence has them, the first of more than most: "a, b and c", "a, b and 12 more", "nothing".
func Series(names []string, most int) string {
	shown, more := few(names, most)
	switch n := len(shown); {
	case n == 0:
		return "nothing"
	case n == 1 || more != "":
		return strings.Join(shown, ", ") + more
	default:
		return strings.Join(shown[:n-1], ", ") + " and " + shown[n-1]
	}
}

// few cuts a list of more than most names to one less, and counts the rest: that there is one more would take as much room as its name.
func few(names []string, most int) (shown []string, more string) {
	if len(names) <= most {
		return names, ""
	}
	return names[:most-1], fmt.Sprintf(" and %d more", len(names)-most+1)
}
