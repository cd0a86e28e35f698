package runbook

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

type policyKeys struct {
	Protect  *trigger      `yaml:"protect"`
	Shed     []shedKeys    `yaml:"shed"`
	Shutdown *trigger      `yaml:"shutdown"`
	Restore  *trigger      `yaml:"restore"`
	Limits   limits        `yaml:"limits"`
	Reserve  time.Duration `yaml:"reserve"`
	Odds     odds          `yaml:"odds"`
}

// trigger is a mapping with the one key when.
type trigger struct {
	When *condition `yaml:"when" check:"required"`
}

type shedKeys struct {
	Name  string     `yaml:"name" check:"required"`
	Nodes []string   `yaml:"nodes" check:"required"`
	When  *condition `yaml:"when" check:"required"`
}

func (d *decoder) policy(v *value, rb *Runbook) {
	keys := policyKeys{Reserve: DefaultReserve}
	before := len(d.problems)
	d.mapping(v, v, "a policy", reflect.ValueOf(&keys).Elem())
	broken := len(d.problems) > before
	p := &rb.Policy
	p.Protect, p.Shutdown, p.Restore = keys.Protect.when(), keys.Shutdown.when(), keys.Restore.when()
	p.Limits, p.Reserve, p.Odds = keys.Limits, keys.Reserve, float64(keys.Odds)
	if broken && p.Shutdown.IsZero() { // it may have one, which could not be read
		p.shutdown = v.get("shutdown")
	}
	shed := v.get("shed")
	for i, k := range keys.Shed {
		if i >= len(shed.items) {
			break
		}
		p.Shed = append(p.Shed, Shed{Name: k.Name, Nodes: k.Nodes, When: (&trigger{k.When}).when(), at: shed.items[i]})
	}
}

// odds is a chance that is accepted, as a percentage: 0.05 for 5%.
type odds float64

func (o *odds) read(d *decoder, v *value) {
	percent, ok := d.percent(v, 90)
	if ok && percent < 0.1 {
		d.fail(v, "write odds: 5%", "no battery is certain to outlast a plan: the odds must be 0.1%% to 90%%, found %s", v.what())
	}
	*o = odds(percent / 100)
}

func (t *trigger) when() power.Condition {
	if t == nil || t.When == nil {
		return power.Condition{}
	}
	return power.Condition(*t.When)
}

// condition is a trigger: a mapping with one key, such as {on_battery: 10s}.
type condition power.Condition

// form is how the value of a condition is written.
type form uint8

const (
	aTime form = iota
	aPercentage
	aTemperature
	aTrue
	aShutdown
	aList
)

// conditionForm says how a condition is written.
type conditionForm struct {
	kind power.Kind
	form form
	like string
}

// conditions are those of the language, in the order in which hints list them.
var conditions = []conditionForm{
	{power.OnBattery, aTime, "on_battery: 10s"},
	{power.SlackBelow, aTime, "slack_below: 2m"},
	{power.RuntimeBelow, aTime, "runtime_below: 5m"},
	{power.ChargeBelow, aPercentage, "charge_below: 30%"},
	{power.LowBattery, aTrue, "low_battery: true"},
	{power.SilentOnBattery, aTime, "silent_on_battery: 60s"},
	{power.Brownout, aTime, "brownout: 5m"},
	{power.TemperatureAbove, aTemperature, "temperature_above: 40"},
	{power.Online, aTime, "online: 10m"},
	{power.ChargeAbove, aPercentage, "charge_above: 60%"},
	{power.RechargedFor, aShutdown, "recharged_for: another_shutdown"},
	{power.Any, aList, "any: [{on_battery: 3m}, {low_battery: true}]"},
	{power.All, aList, "all: [{online: 10m}, {charge_above: 60%}]"},
}

func (c *condition) read(d *decoder, v *value) {
	if v.kind == sequence {
		d.fail(v, "write {any: […]} or {all: […]}", "a list of conditions must say whether any or all of them must hold")
		return
	}
	if v.kind == scalar {
		d.fail(v, "write it like {on_battery: 10s}", "expected a condition, found %s", v.what())
		return
	}
	if !d.want(v, mapping, "a condition such as {on_battery: 10s}") {
		return
	}
	switch len(v.pairs) {
	case 0:
		d.fail(v, "write it like {on_battery: 10s}", "the condition is empty")
	case 1:
	default:
		d.fail(v.pairs[1].key, "write {any: [{…}, {…}]} if one is enough, {all: [{…}, {…}]} if all must hold",
			"a condition has one key, but this one has %d", len(v.pairs))
	}
	for i, p := range v.pairs {
		var one condition
		d.enter(p.key.text)
		one.readOne(d, p)
		d.leave()
		if i == 0 {
			*c = one
		}
	}
}

func (c *condition) readOne(d *decoder, p pair) {
	at := slices.IndexFunc(conditions, func(k conditionForm) bool { return string(k.kind) == p.key.text })
	if at < 0 {
		var names []string
		for _, k := range conditions {
			names = append(names, string(k.kind))
		}
		d.fail(p.key, suggest(p.key.text, names, "conditions"), "unknown condition %q", p.key.text)
		return
	}
	known, v := conditions[at], p.val
	if v.kind == nothing {
		d.fail(v, "write "+known.like, "%s has no value", p.key.text)
		return
	}
	ok := false
	switch known.form {
	case aTime:
		c.For, ok = d.duration(v)
	case aPercentage:
		c.Than, ok = d.percent(v, 100)
	case aTemperature:
		if c.Than, ok = d.number(v, ""); ok && (c.Than < -40 || c.Than > 120) {
			d.fail(v, "temperatures are in °C", "%v is not a temperature that a UPS reports", c.Than)
		}
	case aTrue:
		if ok = v.kind == scalar && !v.quoted && v.text == "true"; !ok {
			d.fail(v, "write "+known.like+", or leave the condition out", "%s can only be true, found %s", p.key.text, v.what())
		}
	case aShutdown:
		if ok = v.kind == scalar && v.text == "another_shutdown"; !ok {
			d.fail(v, "write "+known.like, "%s can only be another_shutdown, found %s", p.key.text, v.what())
		}
	case aList:
		ok = c.readList(d, v)
	}
	if ok {
		c.Kind = known.kind
	}
}

func (c *condition) readList(d *decoder, v *value) bool {
	if !d.want(v, sequence, "a list of conditions") {
		return false
	}
	if len(v.items) == 0 {
		d.fail(v, "write it like [{on_battery: 3m}, {low_battery: true}]", "the list of conditions is empty")
		return false
	}
	for i, item := range v.items {
		var of condition
		d.enter("[" + strconv.Itoa(i) + "]")
		d.decodeInto(item, &of)
		d.leave()
		c.Of = append(c.Of, power.Condition(of))
	}
	return true
}

// limits is a mapping from node types to how many of them may be worked on at once: 4, or {total: 60, per_host: 8}.
type limits []plan.Limit

func (l *limits) read(d *decoder, v *value) {
	if !d.want(v, mapping, "a mapping from node types to limits, such as {vsphere.vm: {total: 60, per_host: 8}}") {
		return
	}
	for _, p := range v.pairs {
		d.enter(p.key.text)
		var keys struct {
			Total   int `yaml:"total" check:"positive"`
			PerHost int `yaml:"per_host" check:"positive"`
		}
		switch p.val.kind {
		case mapping:
			d.mapping(p.val, p.key, "a limit", reflect.ValueOf(&keys).Elem())
			if len(p.val.pairs) == 0 {
				d.fail(p.val, "write {total: 60, per_host: 8}", "the limit is empty")
			}
		default:
			before := len(d.problems)
			d.decodeInto(p.val, &keys.Total)
			if len(d.problems) == before && keys.Total < 1 {
				d.fail(p.val, "leave the limit out if there is none", "a limit must be more than 0")
			}
		}
		d.leave()
		*l = append(*l, plan.Limit{Class: p.key.text, Total: keys.Total, PerHost: keys.PerHost})
	}
	slices.SortFunc(*l, func(a, b plan.Limit) int { return cmp.Compare(a.Class, b.Class) })
}

// leaves calls seen for each condition within c that is not any or all.
func leaves(c power.Condition, seen func(power.Condition)) {
	if c.Kind == power.Any || c.Kind == power.All {
		for _, of := range c.Of {
			leaves(of, seen)
		}
		return
	}
	seen(c)
}

// conditionAt finds the first condition of a kind below a trigger's value, and the path to it.
func conditionAt(v *value, kind power.Kind, path string) (*pair, string) {
	if v == nil {
		return nil, ""
	}
	if p := v.find(string(kind)); p != nil {
		return p, path + "." + string(kind)
	}
	for i := range v.pairs {
		if found, at := conditionAt(v.pairs[i].val, kind, path+"."+v.pairs[i].key.text); found != nil {
			return found, at
		}
	}
	for i, item := range v.items {
		if found, at := conditionAt(item, kind, path+"["+strconv.Itoa(i)+"]"); found != nil {
			return found, at
		}
	}
	return nil, ""
}

// percentText writes a percentage as a runbook does.
func percentText(n float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") + "%"
}
