package nut

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/power"
	"ebbtide/internal/schema"
)

// Wants are what is wanted of a UPS beyond its readings.
type Wants struct {
	Cutting Cutting
	Outlets []string // by their names in NUT: "2", "group.1"
}

// Offer is what a UPS says, and what it offers of what is wanted of it.
type Offer struct {
	Reading power.Reading
	// Commands are those that it has for its output and its outlets.
	Commands []string
	// Ways are those in which it can be cut as wanted, the one that comes first first: one command, or two with a plus. Empty:
	// it can't, or is not to be.
	Ways   []string
	Delays []Delay // of a cut, those that it has
	// Lacks says what it does not offer, and what is in the way, each as a sentence with what to do about it.
	Lacks []string
	// Quirks are what its kind is known for, where it is to be cut, and who else may cut it.
	Quirks []Quirk
}

// Delay is a delay of a cut, as a UPS has it.
type Delay struct {
	Name     string `json:"name"` // its variable
	Value    string `json:"value"`
	Settable bool   `json:"settable"`
}

// Examine asks a UPS what it says and what it offers of what is wanted of it. It reads, and commands nothing. The error says
// that the UPS could not be asked.
func Examine(ctx context.Context, o Options, ups string, w Wants) (offer Offer, err error) {
	err = unit{options: o, ups: ups}.session(ctx, "see what is offered by", func(c *Client, vars []Var) error {
		offer.Reading = ReadingFrom(ups, vars)
		offered, err := c.ListCmd(ctx, ups)
		if err != nil {
			return unsent(ctx, err)
		}
		offer.Commands = related(offered)
		if w.Cutting.Way != schema.CutNone {
			if err := offer.examineCut(ctx, c, ups, w.Cutting, offered, vars); err != nil {
				return unsent(ctx, err)
			}
			offer.Quirks = quirksOf(vars, w.Cutting)
		}
		for _, name := range w.Outlets {
			offer.Lacks = append(offer.Lacks, (&outlet{name: name}).lacks(offered, vars)...)
		}
		r, err := callRoll(ctx, c, ups)
		if err != nil && !errors.Is(err, errDisagree) {
			return unsent(ctx, err)
		}
		if len(r.ours) > 0 {
			offer.Lacks = append(offer.Lacks, ownUpsmon)
		}
		if len(r.servers) > 0 {
			known := serversUpsmon
			known.Says = "has an upsmon on the machine of its NUT server that " + known.Says
			offer.Quirks = append(offer.Quirks, known)
		}
		return nil
	})
	return offer, err
}

func (o *Offer) examineCut(ctx context.Context, c *Client, ups string, how Cutting, offered []string, vars []Var) error {
	ways, _ := how.ways(offered) // the error is among the lacks
	for _, way := range ways {
		o.Ways = append(o.Ways, strings.Join(way, " + "))
	}
	writable, err := c.ListRW(ctx, ups)
	if err != nil {
		return err
	}
	for _, name := range []string{varDelay, varStartDelay} {
		if value := bare(valueOf(vars, name)); value != "" {
			o.Delays = append(o.Delays, Delay{Name: name, Value: value, Settable: valueOf(writable, name) != ""})
		}
	}
	delays, err := lacksOfDelays(ctx, c, ups, writable, how.delays())
	o.Lacks = append(append(o.Lacks, how.lacks(offered)...), delays...)
	return err
}

func (c Cutting) lacks(offered []string) []string {
	if _, err := c.ways(offered); err != nil {
		return []string{"its output can't be cut: " + adapter.Plain(err)}
	}
	lacks := func(command string) bool { return !slices.Contains(offered, command) }
	switch {
	case c.Way == schema.CutLoadOff && lacks(onDelayCommand):
		return []string{"its output stays off after its cut, because the UPS has no " + onDelayCommand +
			": write cut: shutdown.return, if it has that"}
	case c.Way == schema.CutStayOff && lacks(startCommand):
		return []string{"its output can be switched on again only by its button, because the UPS has no " + startCommand}
	}
	return nil
}

// lacksOfDelays tells which delays the UPS does not let be set, or not to what is wanted.
func lacksOfDelays(ctx context.Context, c *Client, ups string, writable []Var, wanted []delaySetting) ([]string, error) {
	var lacks []string
	for _, d := range wanted {
		key := map[string]string{varDelay: "offdelay", varStartDelay: "ondelay"}[d.name]
		own := valueOf(writable, d.name)
		if own == "" {
			lacks = append(lacks, fmt.Sprintf("%s: %s has no effect, because the UPS does not allow %s to be set: set it on the UPS or "+
				"as %s of its driver in ups.conf, and remove it here", key, d.want, d.name, key))
			continue
		}
		takes, err := takes(ctx, c, ups, d)
		if err != nil {
			return nil, err
		}
		if takes != "" && bare(own) != d.value() {
			lacks = append(lacks, fmt.Sprintf("%s: %s is not a value that the UPS accepts for %s (%s): write one of these", key,
				d.want, d.name, takes))
		}
	}
	return lacks, nil
}

// takes lists what a variable can be set to, if what is wanted is not among it; "" otherwise.
func takes(ctx context.Context, c *Client, ups string, d delaySetting) (string, error) {
	var answer *Error // an old server knows no such lists
	values, err := c.ListEnum(ctx, ups, d.name)
	if err != nil && !errors.As(err, &answer) {
		return "", err
	}
	spans, err := c.ListRange(ctx, ups, d.name)
	if err != nil && !errors.As(err, &answer) {
		return "", err
	}
	for _, span := range spans {
		low, high := number(span.Min), number(span.Max)
		if low.Known && high.Known && low.Value <= d.want.Seconds() && d.want.Seconds() <= high.Value {
			return "", nil
		}
		values = append(values, span.Min+" to "+span.Max)
	}
	if slices.Contains(values, d.value()) {
		return "", nil
	}
	return strings.Join(values, ", "), nil
}

func (o *outlet) lacks(offered []string, vars []Var) []string {
	var lacks []string
	for _, word := range []string{"off", "on"} {
		if _, err := first(offered, o.commands(word)...); err != nil {
			lacks = append(lacks, fmt.Sprintf("outlet %s can't be switched %s: %s", o.name, word, adapter.Plain(err)))
		}
	}
	if strings.EqualFold(bare(valueOf(vars, o.variable("switchable"))), "no") {
		lacks = append(lacks, fmt.Sprintf("outlet %s is not switchable: write only the supply in fed_by", o.name))
	}
	if valueOf(vars, o.variable("status")) == "" {
		lacks = append(lacks, fmt.Sprintf("outlet %s can't be proven off or on, because the UPS has no %s: write only the supply in fed_by",
			o.name, o.variable("status")))
	}
	return lacks
}
