package cache

import (
	"slices"
	"strings"
)

// setting is one thing that Protect changes, and its value before.
type setting struct{ key, value string }

// settings are what was set before Protect, in the order of reading. Keys and values have no blanks.
type settings []setting

// String gives the text that a record keeps: "cache_mode=writeback writeback_percent=10".
func (s settings) String() string {
	words := make([]string, len(s))
	for i, one := range s {
		words[i] = one.key + "=" + one.value
	}
	return strings.Join(words, " ")
}

// parseSettings reads what String wrote.
func parseSettings(text string) settings {
	var s settings
	for word := range strings.FieldsSeq(text) {
		if key, value, ok := strings.Cut(word, "="); ok {
			s = append(s, setting{key, value})
		}
	}
	return s
}

// get gives a value, or otherwise where it is not known or allowed says no.
func (s settings) get(key, otherwise string, allowed func(string) bool) string {
	for _, one := range s {
		if one.key == key && allowed(one.value) {
			return one.value
		}
	}
	return otherwise
}

// oneOf reports whether a value is one of some.
func oneOf(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, v) }
}

// number reports whether a value is a whole number that is not negative.
func number(v string) bool { return v != "" && strings.Trim(v, "0123456789") == "" }
