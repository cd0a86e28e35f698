package runbook

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/schema"
)

func (c *checker) supplies() {
	feeds, unknown := map[string]bool{}, false
	for i := range c.rb.Nodes {
		for _, s := range c.rb.Nodes[i].FedBy {
			feeds[s] = true
			if _, ok := c.supply[s]; !ok {
				unknown = true // perhaps this one, misspelled
			}
		}
	}
	seen := map[string]string{}
	for i := range c.rb.Supplies {
		s := &c.rb.Supplies[i]
		say := func(sev Severity, keys []string, hint, format string, args ...any) {
			c.say(sev, "supplies", s.at, keys, hint, format, args...)
		}
		password := s.at.val.find("password") != nil
		switch {
		case s.Username != "" && !password:
			say(Error, []string{"username"}, "add password: {credential: …}", "a username needs a password")
		case s.Username == "" && password:
			say(Error, []string{"password"}, "add username: …, as upsd.users has it", "a password needs a username")
		case s.Username == "" && s.Cut != schema.CutNone && s.UPS != "":
			say(Warning, nil, fmt.Sprintf("add username and password of an upsd user with instcmds = %s, or cut: none", s.Cut),
				"the output of %s can't be cut: upsd accepts commands only from its users", s.ID)
		case s.Cut == schema.CutStayOff:
			say(Warning, []string{"cut"}, "write shutdown.return unless someone is to check before anything starts",
				"nothing comes back on %s until someone switches it on", s.ID)
		}
		if s.OnDelay > 0 && s.OnDelay < power.ShortestOff {
			say(Error, []string{"ondelay"}, "write 10s or more, or leave it as set in the UPS: NUT's default is 30s",
				"an output that is off for only %s may not be noticed, for example by a daemon that is restarting, and would be cut again while "+
					"machines start",
				english.Span(s.OnDelay))
		}
		if first, twice := seen[s.NUT()]; twice && s.UPS != "" {
			say(Warning, []string{"nut"}, "one UPS is one supply", "this is the same UPS as %s", first)
		} else {
			seen[s.NUT()] = s.ID
		}
		if !feeds[s.ID] && !unknown {
			say(Warning, nil, fmt.Sprintf("add fed_by: [%s] to what it feeds", s.ID),
				"no node is fed by %s: its failure would have no effect", s.ID)
		}
	}
}

func (c *checker) connections() {
	for _, ref := range c.rb.refs {
		if _, ok := c.conn[ref.name]; !ok {
			c.add(Error, ref.at, ref.path, fmt.Sprintf("there is no connection %q", ref.name), c.guess(ref.name, c.conn, "connections"))
		}
	}
	for i := range c.rb.Nodes {
		c.via(i)
		c.wake(i)
	}
}

func (c *checker) via(i int) {
	n, t := &c.rb.Nodes[i], c.types[i]
	if t == nil {
		return
	}
	given := n.at.val.find("via") != nil
	switch {
	case len(t.Via) == 0 && given:
		c.nodeError(i, []string{"via"}, "remove via", "a node of type %s can't have via", n.Type)
		return
	case len(t.Via) == 0:
		return
	case !given:
		c.nodeError(i, nil, c.viaHint(t.Via), "%s lacks the key via: the connection used to reach it", n.ID)
		return
	case n.Via == "":
		return
	}
	at, ok := c.conn[n.Via]
	if !ok {
		c.nodeError(i, []string{"via"}, c.guess(n.Via, c.conn, "connections"), "there is no connection %q", n.Via)
		return
	}
	if is := c.rb.Connections[at].Type; is != "" && !slices.Contains(t.Via, is) {
		c.nodeError(i, []string{"via"}, c.viaHint(t.Via), "a node of type %s needs a connection of type %s; %s is of type %s",
			n.Type, strings.Join(t.Via, " or "), n.Via, is)
	}
}

// viaHint names the connections that would do.
func (c *checker) viaHint(types []string) string {
	var fit []string
	for i := range c.rb.Connections {
		if slices.Contains(types, c.rb.Connections[i].Type) {
			fit = append(fit, c.rb.Connections[i].Name)
		}
	}
	if len(fit) == 0 {
		return "declare one: connections: {name: {type: " + types[0] + ", …}}"
	}
	return "write via: " + strings.Join(fit[:min(len(fit), 8)], " or ")
}

func (c *checker) wake(i int) {
	w := c.rb.Nodes[i].Wake
	if w == nil {
		return
	}
	key := func(k string) []string { return []string{"up", "wake", k} }
	if w.MAC != "" {
		if mac, err := net.ParseMAC(w.MAC); err != nil || len(mac) != 6 {
			c.nodeError(i, key("mac"), "write it like 00:25:90:ab:cd:ef", "%q is not a MAC address", w.MAC)
		}
	} else if w.Broadcast != "" {
		c.nodeError(i, key("broadcast"), "add mac", "broadcast is for Wake-on-LAN: it needs mac")
	}
	if w.Broadcast != "" {
		if _, _, err := net.SplitHostPort(w.Broadcast); err != nil {
			c.nodeError(i, key("broadcast"), "write it like 10.0.0.255:9", "%q is not host:port", w.Broadcast)
		}
	}
	for _, way := range w.Ways() {
		at, ok := c.conn[way.Connection]
		if !ok {
			c.nodeError(i, key(way.Key), c.guess(way.Connection, c.conn, "connections"), "there is no connection %q", way.Connection)
		} else if is := c.rb.Connections[at].Type; is != "" && is != way.Type {
			c.nodeError(i, key(way.Key), c.viaHint([]string{way.Type}), "%s needs a connection of type %s; %s is of type %s", way.Key,
				way.Type, way.Connection, is)
		}
	}
	if err := w.Check(); err != nil {
		hint := ""
		if errors.Is(err, schema.ErrManyWays) {
			hint = "keep the most reliable: a BMC rather than a PDU, a PDU rather than Wake-on-LAN"
		}
		c.nodeError(i, []string{"up", "wake"}, hint, "%v", err)
	} else if !w.Starts() && !w.Power && w.Broadcast == "" {
		c.nodeError(i, []string{"up", "wake"}, "give one of mac, redfish, ipmi, pdu, or power: true if it starts when its power comes back",
			"wake gives no way to start it")
	}
}

// nodes holds each node against itself.
func (c *checker) nodes() {
	self := -1
	for i := range c.rb.Nodes {
		n, t := &c.rb.Nodes[i], c.types[i]
		if _, both := c.supply[n.ID]; both {
			c.nodeError(i, nil, "give one of them another name", "%s is already the name of a supply", n.ID)
		}
		for _, l := range n.Labels {
			if l.Key == "" || l.Value == "" || strings.ContainsAny(l.Key+l.Value, "=") {
				c.nodeError(i, []string{"labels"}, "write labels like {tier: lab}", "a label is a key and a value without =")
			}
		}
		for k, check := range n.Healthy {
			if err := check.Check(); err != nil {
				at := n.at.val.get("up").get("healthy").items[k]
				c.add(Error, at, fmt.Sprintf("nodes.%s.up.healthy[%d]", n.ID, k), err.Error(), "")
			}
		}
		if t != nil && len(n.Serves) > 0 && t.Kind != plan.Other {
			c.nodeWarning(i, []string{"serves"}, "remove it", "this does nothing: a node of type %s is not storage", n.Type)
		}
		if n.Up.Retries != nil && (*n.Up.Retries < 0 || *n.Up.Retries > 100) {
			c.nodeError(i, []string{"up", "retries"}, "0 tries once", "retries are from 0 to 100")
		}
		if t == nil {
			continue
		}
		if t.Kind == plan.Self {
			if self >= 0 {
				c.nodeError(i, []string{"type"}, "Ebbtide runs on one machine", "%s already has type %s", c.rb.Nodes[self].ID, t.Name)
			} else {
				self = i
			}
		}
		c.expect(i)
		c.times(i)
		c.proof(i)
		c.byPower(i)
		c.inTime(i)
		c.throughItself(i)
	}
}

// inTime warns of Ebbtide's own machine where its output goes off before it may be down: it goes last, once the cut is ordered.
func (c *checker) inTime(i int) {
	n, tr := &c.rb.Nodes[i], &c.traits[i]
	if tr.Kind != plan.Self {
		return
	}
	takes := tr.Times[plan.Stop].Within
	for _, fed := range n.FedBy {
		id, _, _ := strings.Cut(fed, "/") // an outlet goes with its supply
		at, known := c.supply[id]
		if !known {
			continue
		}
		s := &c.rb.Supplies[at]
		says := "goes off " + english.Span(s.OffDelay) + " after its cut was ordered"
		switch {
		case s.Cut == schema.CutNone || s.Username == "" || s.OffDelay >= takes:
			continue
		case s.OffDelay == 0:
			says = "goes off after the delay that its UPS is set to, " + english.Span(schema.UsualOffDelay) + " in most"
		}
		c.nodeWarning(i, nil, fmt.Sprintf("write offdelay: %s or more in %s, or here down: {within: …} if it is really down sooner", english.Span(takes), id),
			"%s powers off last, and may take %s; but the output of %s %s", n.ID, english.Span(takes), id, says)
	}
}

// throughItself warns of a VM that is reached through what runs in it: once it is told to stop, nothing can be asked
// whether it is off, and nothing can start it.
func (c *checker) throughItself(i int) {
	n, t := &c.rb.Nodes[i], c.types[i]
	if t.Kind != plan.VM || t.Selects || len(n.Healthy) == 0 {
		return
	}
	at := c.rb.EndpointOf(&c.rb.schema, n.Via).Address
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		at = u.Hostname()
	}
	if at == "" {
		return
	}
	for _, h := range n.Healthy {
		if u, err := url.Parse(h.HTTP); h.TCP != "" && schema.HostOf(h.TCP) == at || h.HTTP != "" && err == nil && u.Hostname() == at {
			c.nodeWarning(i, []string{"via"}, "write via: with the connection of its host",
				"%s seems to be what %s connects to: when it stops, nothing can prove that it is off or start it", n.ID, n.Via)
			return
		}
	}
}

func (c *checker) expect(i int) {
	n, t := &c.rb.Nodes[i], c.types[i]
	given := n.at.val.find("expect") != nil
	switch {
	case !t.Selects && given:
		c.nodeError(i, []string{"expect"}, "remove expect", "expect is for nodes that stand for many; %s is a single node", n.ID)
	case t.Selects && !given:
		c.nodeWarning(i, nil, "add expect: with roughly how many there are", "without a live inventory %s counts as one", n.ID)
	case n.Expect > maxExpect:
		c.nodeError(i, []string{"expect"}, "", "expect is at most %d", maxExpect)
	}
}

// maxExpect bounds how many members may stand in for a selector.
const maxExpect = 20_000

// times holds down and up against each other and against what the node can do.
func (c *checker) times(i int) {
	n, tr := &c.rb.Nodes[i], &c.traits[i]
	for _, k := range []struct {
		path    []string
		limit   string
		verb    plan.Verb
		nominal bool
	}{
		{[]string{"down", "nominal"}, "within", plan.Stop, true},
		{[]string{"down", "flush_nominal"}, "flush_within", plan.Flush, true},
		{[]string{"up", "nominal"}, "within", plan.Start, true},
		{[]string{"down", "within"}, "", plan.Stop, false},
		{[]string{"down", "force"}, "", plan.Force, false},
		{[]string{"down", "flush_within"}, "", plan.Flush, false},
		{[]string{"down", "protect_within"}, "", plan.Protect, false},
	} {
		section := n.at.val.get(k.path[0])
		if section == nil || section.find(k.path[1]) == nil {
			continue
		}
		if times := tr.Times[k.verb]; k.nominal && times.Nominal > times.Within {
			c.nodeError(i, k.path, fmt.Sprintf("raise %s.%s or lower this", k.path[0], k.limit),
				"%s is expected to take %s, longer than it may (%s: %s)", k.verb, english.Span(times.Nominal), k.limit,
				english.Span(times.Within))
		}
		if k.path[0] == "down" && !tr.Can.Has(k.verb) && (k.verb != plan.Force || !n.Down.Force.Never) {
			c.nodeWarning(i, k.path, "remove it", "this does nothing: a node of type %s with these keys has no %s", n.Type, k.verb)
		}
	}
}

// proof warns of what nothing takes down or brings back, and of what is proven off by too little.
func (c *checker) proof(i int) {
	n, tr := &c.rb.Nodes[i], &c.traits[i]
	if tr.Kind == plan.Other && tr.Can&plan.VerbSet(plan.Stop, plan.Force, plan.Protect, plan.Flush) == 0 {
		c.nodeWarning(i, nil, "give it a way to stop, or make it type: passive if it needs none",
			"nothing shuts %s down, and nothing proves that it is off", n.ID)
	}
	if tr.Kind == plan.Cluster && len(items(n.at, "depends_on")) == 0 && !unreadable(n.at, "depends_on") {
		c.nodeWarning(i, nil, "add depends_on: […] with what it is reached through and what it covers",
			"%[1]s depends on nothing, so what it is reached through may go down before %[1]s is suspended, and %[1]s is put back before anything is "+
				"up", n.ID)
	}
	stops := tr.Can.Has(plan.Stop) && (tr.Kind == plan.Other || tr.Kind == plan.Host)
	if stops && tr.ByPower && n.Wake == nil {
		c.nodeWarning(i, nil, "add up: {wake: …}; wake: {power: true} if it starts by itself when its power comes back",
			"nothing starts %s again if its power was not cut", n.ID)
	}
	if stops && c.types[i].OnlyPower && n.Wake != nil && n.Wake.PDU == "" {
		c.wakesByPower(i)
	}
	if own := n.at.val.find("off_when_unreachable"); stops && tr.OffAfter > 0 && own == nil && (n.Wake == nil || !n.Wake.Powers(&c.rb.schema)) {
		c.nodeWarning(i, nil, "give it a BMC (up: {wake: {redfish: …}} or {ipmi: …}); or write off_when_unreachable: with the time from when its network "+
			"goes down until it is off", "only silence shows that %s is off: by default, %s of it after a stop. A machine that hangs while "+
			"shutting down is silent too, and would lose its storage and its power", n.ID, english.Span(tr.OffAfter))
	}
}

// wakesByPower warns of a wake that does not start what its type starts by the return of its power alone.
func (c *checker) wakesByPower(i int) {
	n, t := &c.rb.Nodes[i], c.types[i]
	if !n.Wake.Power || n.Wake.Starts() {
		c.nodeWarning(i, []string{"up", "wake"}, "write wake: {pdu: …, outlet: N}, or wake: {power: true} if its supplies are cut",
			"a %s that was stopped starts only when its power goes away and comes back", t.Name)
	}
	for _, id := range n.FedBy {
		if at, ok := c.supply[id]; ok && n.Wake.Power && c.rb.Supplies[at].Cut == schema.CutNone {
			c.nodeWarning(i, []string{"up", "wake"}, "write wake: {pdu: …, outlet: N}, or let "+id+" be cut",
				"a %s that was stopped starts only when its power goes away and comes back, and %s is never cut", t.Name, id)
		}
	}
}

// byPower warns of what only the return of its power starts, where that may never have gone away.
func (c *checker) byPower(i int) {
	n, tr := &c.rb.Nodes[i], &c.traits[i]
	if !n.Wake.OnlyPower() || c.types[i].OnlyPower || !tr.Can.Has(plan.Stop) && tr.Kind != plan.Self {
		return
	}
	where := []string{"up", "wake"}
	var fed []*SupplyDecl
	for _, id := range n.FedBy {
		if at, ok := c.supply[id]; ok {
			fed = append(fed, &c.rb.Supplies[at])
		}
	}
	if at := slices.IndexFunc(fed, func(s *SupplyDecl) bool { return s.Cut == schema.CutNone }); at >= 0 {
		c.nodeWarning(i, where, "let the output of "+fed[at].ID+" be cut, or give "+n.ID+" another up.wake",
			"nothing starts %s again if mains power returns before the battery of %s is empty, because the output of %s is never cut", n.ID, fed[at].ID, fed[at].ID)
		return
	}
	for _, s := range fed {
		if s.OffDelay != fed[0].OffDelay {
			c.nodeWarning(i, where, "give them the same offdelay, one that both really honour",
				"%s starts with its power only if everything that feeds it was off at the same time, and %s and %s are not cut together",
				n.ID, fed[0].ID, s.ID)
		}
	}
}
