package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/sim"
)

// outsideOf tells what a scenario lets happen, in the order of time. Orders are left to the record that each becomes.
func outsideOf(sc *sim.Scenario) []told {
	var lines []told
	for i := range sc.Changes {
		if text := outside(&sc.Changes[i]); text != "" {
			lines = append(lines, told{sc.Changes[i].At, "* " + text})
		}
	}
	slices.SortStableFunc(lines, func(a, b told) int { return cmp.Compare(a.at, b.at) })
	return lines
}

func outside(c *sim.Change) string {
	switch {
	case c.Order != nil:
		return ""
	case c.Drill != nil && c.Drill.Supply != "":
		return "an operator asks for a battery drill of " + c.Drill.Supply
	case c.Drill != nil:
		return "an operator asks for a drill of " + strings.Join(c.Drill.Nodes, ", ")
	case c.Clock != nil:
		return fmt.Sprintf("the clock jumps by %s", english.Span(*c.Clock))
	case c.Journal != nil && *c.Journal:
		return "the journal's disk is lost"
	case c.Journal != nil:
		return "the journal's disk is back"
	case c.Becomes != nil:
		return fmt.Sprintf("%s is now %s (not by Ebbtide)", c.Node, c.Becomes)
	case c.SwitchedOn:
		return "a person switches the output of " + c.Supply + " on"
	case c.Silent != nil && *c.Silent:
		return cmp.Or(c.Supply, c.Node) + " falls silent"
	case c.Silent != nil:
		return cmp.Or(c.Supply, c.Node) + " answers again"
	case c.ExtraLoad != nil && *c.ExtraLoad == 0:
		return c.Supply + " no longer carries any extra load"
	case c.ExtraLoad != nil:
		return fmt.Sprintf("%s carries %.0f%% more load than its nodes draw", c.Supply, 100**c.ExtraLoad)
	case c.Temperature != nil:
		return fmt.Sprintf("the temperature is %v °C at %s", *c.Temperature, c.Supply)
	case c.Voltage != nil:
		return fmt.Sprintf("the input of %s is at %v V", c.Supply, *c.Voltage)
	case c.Mains:
		return "mains power is back at " + c.Supply
	default:
		return "mains power fails at " + c.Supply
	}
}
