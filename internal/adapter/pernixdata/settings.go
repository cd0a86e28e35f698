package pernixdata

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// peers is how a VM's writes are kept until they are destaged.
type peers struct {
	near     string // the number of peers that have a copy
	external string // of those in other fault domains; "": FVP has no such number
}

// most bounds the settings, below what a record takes (decorate.Clean): some 440 VMs.
const most = 3990

// mark stands for a VM's UUID where room is dear: 8 characters instead of 36. Two VMs of a thousand have the same one
// once in half a billion estates.
func mark(id string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(id)))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// settingsOf writes down VMs by their peers: "1/0=MARK,MARK 2/-=MARK", with - for no number of external ones. It tells how
// many of them found room: the first by name, of those whose peers are numbers.
func settingsOf(vms []vm) (text string, kept int) {
	vms = slices.Clone(vms)
	slices.SortFunc(vms, func(a, b vm) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	var order []string
	marks := map[string][]string{}
	size := 0
	for _, m := range vms {
		key := m.Peers + "/" + cmp.Or(m.External, "-")
		if !numbers.MatchString(key) {
			continue
		}
		_, known := marks[key]
		grown := size + len(mark(m.ID)) + 1
		if !known {
			grown += len(key) + 1
		}
		if grown > most {
			break
		}
		if !known {
			order = append(order, key)
		}
		marks[key] = append(marks[key], mark(m.ID))
		size = grown
		kept++
	}
	slices.Sort(order)
	words := make([]string, len(order))
	for i, key := range order {
		slices.Sort(marks[key])
		words[i] = key + "=" + strings.Join(marks[key], ",")
	}
	return strings.Join(words, " "), kept
}

var numbers = regexp.MustCompile(`^[0-9]{1,2}/([0-9]{1,2}|-)$`)

// parseSettings reads what settingsOf wrote, by mark; what it can't have written is left out.
func parseSettings(text string) map[string]peers {
	was := map[string]peers{}
	for word := range strings.FieldsSeq(text) {
		key, marks, _ := strings.Cut(word, "=")
		if !numbers.MatchString(key) {
			continue
		}
		near, external, _ := strings.Cut(key, "/")
		for one := range strings.SplitSeq(marks, ",") {
			was[one] = peers{near, strings.Trim(external, "-")}
		}
	}
	return was
}
