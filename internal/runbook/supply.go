package runbook

import (
	"cmp"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/power"
	"ebbtide/internal/schema"
)

type supplyKeys struct {
	NUT      string           `yaml:"nut" check:"required"`
	Curve    curve            `yaml:"curve"`
	Watts    watts            `yaml:"watts"`
	Recharge time.Duration    `yaml:"recharge" check:"positive"`
	Username string           `yaml:"username"`
	Password schema.SecretRef `yaml:"password"`
	TLS      *schema.TLS      `yaml:"tls"`
	Cut      cutKey           `yaml:"cut"`
	OffDelay time.Duration    `yaml:"offdelay" check:"positive"`
	OnDelay  time.Duration    `yaml:"ondelay" check:"positive"`
	Rack     string           `yaml:"rack"`
	Notes    string           `yaml:"notes"`
}

func (d *decoder) supplies(v *value, rb *Runbook) {
	d.each(v, "supplies", func(p pair) {
		var keys supplyKeys
		d.mapping(p.val, p.key, "a supply", reflect.ValueOf(&keys).Elem())
		s := SupplyDecl{
			Supply: schema.Supply{
				ID: p.key.text, Username: keys.Username, Password: keys.Password, TLS: keys.TLS,
				Cut: cmp.Or(schema.Cut(keys.Cut), schema.CutShutdownReturn), OffDelay: keys.OffDelay, OnDelay: keys.OnDelay,
			},
			Curve: keys.Curve, Watts: float64(keys.Watts), Recharge: keys.Recharge, Rack: keys.Rack, Notes: keys.Notes, at: p,
		}
		if nut := p.val.get("nut"); nut != nil && keys.NUT != "" {
			s.UPS, s.Address = d.nut(nut)
		}
		rb.Supplies = append(rb.Supplies, s)
	})
	if v.kind == mapping && len(v.pairs) == 0 {
		d.fail(v, `write ups-a: {nut: "ups@127.0.0.1:3493"}`, "there is no supply: nothing could ever be triggered")
	}
}

// nut reads ups@host:port as NUT's tools do; the port is 3493 if not given.
func (d *decoder) nut(v *value) (ups, address string) {
	ups, address, ok := strings.Cut(v.text, "@")
	if ok && ups != "" && address != "" && !strings.ContainsAny(v.text, " \t/") {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			host, port = strings.Trim(address, "[]"), "3493"
		}
		if n, err := strconv.Atoi(port); err == nil && 0 < n && n < 65536 && host != "" &&
			(!strings.Contains(host, ":") || net.ParseIP(host) != nil) {
			return ups, net.JoinHostPort(host, port)
		}
	}
	d.enter("nut")
	d.fail(v, `write it like "ups@127.0.0.1:3493"; upsc -l lists the names that a server has`, "expected ups@host:port, found %s", v.what())
	d.leave()
	return "", ""
}

var cuts = []string{string(schema.CutShutdownReturn), string(schema.CutLoadOff), string(schema.CutStayOff), string(schema.CutNone)}

type cutKey schema.Cut

func (c *cutKey) read(d *decoder, v *value) {
	if !d.want(v, scalar, "shutdown.return, load.off.delay, shutdown.stayoff or none") {
		return
	}
	switch schema.Cut(v.text) {
	case schema.CutShutdownReturn, schema.CutLoadOff, schema.CutStayOff, schema.CutNone:
		*c = cutKey(v.text)
	case "load.off":
		d.fail(v, "write shutdown.return: it cuts too, and switches on again with the mains",
			"%s would leave everything off for good", v.text)
	default:
		d.fail(v, suggest(v.text, cuts, "ways to cut"), "unknown way to cut %s", v.what())
	}
}

// watts is a power, such as 350.
type watts float64

func (w *watts) read(d *decoder, v *value) {
	n, ok := d.number(v, "Ww")
	switch {
	case ok && n <= 0:
		d.fail(v, "leave it out if it is not known", "a power in watts must be more than 0, found %s", v.what())
	case ok && n > mostWatts:
		d.fail(v, "it is counted in watts", "a power is at most %d W here, found %s", mostWatts, v.what())
	case ok:
		*w = watts(n)
	}
}

// mostWatts is more than any one thing in a datacenter draws.
const mostWatts = 10_000_000

// curve is a runtime curve: {100%: 9m, 50%: 21m}.
type curve []power.Point

func (c *curve) read(d *decoder, v *value) {
	if !d.want(v, mapping, "a mapping from load to runtime, such as {100%: 9m, 50%: 21m}") {
		return
	}
	var at []*value
	for _, p := range v.pairs {
		d.enter(p.key.text)
		load, ok := d.percent(p.key, 150)
		if ok && load == 0 {
			d.fail(p.key, "the smallest load is more than 0%", "no battery has a runtime at no load")
		}
		runtime, ok2 := d.duration(p.val)
		if ok2 && runtime == 0 {
			d.fail(p.val, "", "a runtime must be more than 0")
		}
		if ok && ok2 && load > 0 && runtime > 0 {
			*c = append(*c, power.Point{Load: load, Time: runtime})
			at = append(at, p.key)
		}
		d.leave()
	}
	for i, a := range *c {
		for j, b := range (*c)[:i] {
			if a.Load == b.Load || (a.Load > b.Load) != (a.Time < b.Time) {
				d.fail(at[i], fmt.Sprintf("compare it with the one for %s", at[j].text), "a curve must give less runtime for more load")
				break
			}
		}
	}
	slices.SortFunc(*c, func(a, b power.Point) int { return cmp.Compare(a.Load, b.Load) })
}
