package daemon

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ebbtide/internal/power"
	"ebbtide/internal/timeline"
)

// metrics are made from the runner's view at each scrape; only what can be counted but not seen is kept.
type metrics struct {
	daemon   *Daemon
	registry *prometheus.Registry
	outages  *prometheus.CounterVec
	drills   *prometheus.CounterVec
}

// The results of an outage.
const (
	resultNothing    = "nothing-done" // power came back in time
	resultRestored   = "restored"
	resultIncomplete = "incomplete" // something was not brought back
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ebbtide_"+name, help, labels, nil)
}

var (
	upDesc      = desc("up", "1 while Ebbtide's main loop answers.")
	armedDesc   = desc("armed", "1 if Ebbtide acts, 0 if it only observes: steps and outages are then counted as they would have been.")
	infoDesc    = desc("build_info", "The program's version.", "version")
	journalDesc = desc("journal_writable", "1 while records can be made durable.")
	asideDesc   = desc("journals_set_aside", "Damaged journals that were moved aside and have not been removed yet.")
	openDesc    = desc("outage_open", "1 while an outage is under way, or is observed.")
	drillDesc   = desc("drill_open", "1 while a drill is under way.")
	holdDesc    = desc("outage_hold", "1 while the outage is on hold, or would be.")
	stepsDesc   = desc("steps", "Steps of the open outage, or of the last one, by their state; while ebbtide_armed is 0, as they would "+
		"have been.", "state")
	blindDesc = desc("selectors_blind", "Selectors that have never listed their members.")
	planDesc  = desc("plan_left_seconds", "What the rest of the down plan needs.")

	statusDesc  = desc("supply_status", "1 for each word of ups.status that the supply reports.", "supply", "status")
	linkDesc    = desc("supply_up", "1 while the supply is being read.", "supply")
	chargeDesc  = desc("supply_charge_percent", "Charge of the battery.", "supply")
	runtimeDesc = desc("supply_runtime_seconds", "Battery time left at the present load, a pessimistic estimate.", "supply")
	loadDesc    = desc("supply_load_percent", "Load, in percent of nominal.", "supply")
	batteryDesc = desc("supply_on_battery", "1 while the supply is on battery.", "supply")
	slackDesc   = desc("supply_slack_seconds", "Battery time left less the reserve and what the rest of the plan needs.", "supply")
	gateDesc    = desc("supply_gate_open", "1 while the recharge gate is open.", "supply")

	capacityDesc = desc("supply_capacity_seconds", "Proven time that a full battery lasts at full load; no series: not proven.", "supply")
	drainedDesc  = desc("supply_last_proof_timestamp_seconds",
		"When an outage or a drill last proved what the battery can deliver; 0: never.", "supply")
	returnedDesc = desc("node_last_proof_timestamp_seconds",
		"When the node was last stopped, without force, and started again, in an outage or a drill; 0: never.", "node")

	ageDesc = desc("node_proof_age_seconds", "Time since the node's state was last seen; in an outage that is only observed, as rehearsed.",
		"node")
)

func newMetrics(d *Daemon) *metrics {
	m := &metrics{
		daemon: d, registry: prometheus.NewRegistry(),
		outages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ebbtide_outages_total",
			Help: "Outages that have ended since Ebbtide started, by result; while ebbtide_armed is 0, by the result that they would have had.",
		},
			[]string{"result"}),
	}
	m.drills = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ebbtide_drills_total",
		Help: "Drills that have ended since Ebbtide started, by result.",
	}, []string{"result"})
	for _, result := range []string{resultNothing, resultRestored, resultIncomplete} {
		m.outages.WithLabelValues(result)
		m.drills.WithLabelValues(result)
	}
	m.registry.MustRegister(m, m.outages, m.drills, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// closed counts an outage or a drill that has ended.
func (m *metrics) closed(tl timeline.Timeline) {
	result := resultRestored
	switch {
	case len(tl.NotRestored) > 0:
		result = resultIncomplete
	case len(tl.Steps) == 0:
		result = resultNothing
	}
	if tl.Drill() {
		m.drills.WithLabelValues(result).Inc()
		return
	}
	m.outages.WithLabelValues(result).Inc()
}

// Describe sends nothing: which series there are depends on the runbook.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect makes the series of what is known now.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	d := m.daemon
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	gauge(infoDesc, 1, d.options.Version)
	gauge(armedDesc, truth(d.isArmed()))
	gauge(asideDesc, float64(len(d.aside())))
	gauge(blindDesc, float64(len(d.site.Load().blind)))
	s, _ := d.history.summary()
	for state, n := range map[timeline.State]int{
		timeline.Pending: s.Pending, timeline.Running: s.Running, timeline.Proven: s.Proven,
		timeline.Failed: s.Failed, timeline.Stopped: s.Forced, timeline.Open: s.Open,
	} {
		gauge(stepsDesc, float64(n), string(state))
	}
	d.collectProofs(gauge)
	view, err := d.view(context.Background())
	gauge(upDesc, truth(err == nil))
	if err != nil {
		return
	}
	gauge(journalDesc, truth(view.Journal))
	gauge(openDesc, truth(view.Outage != "" && !view.Drill))
	gauge(drillDesc, truth(view.Drill))
	gauge(holdDesc, truth(view.Hold))
	if view.PlanLeft > 0 {
		gauge(planDesc, view.PlanLeft.Seconds())
	}
	figure := func(desc *prometheus.Desc, f power.Figure, id string) {
		if f.Known {
			gauge(desc, f.Value, id)
		}
	}
	for _, supply := range view.Supplies {
		id, reading := supply.ID, d.heard.reading(supply.ID)
		gauge(linkDesc, truth(reading.Link == power.Fresh && reading.Supply != ""), id)
		for word := range strings.FieldsSeq(reading.Status.String()) {
			gauge(statusDesc, 1, id, word)
		}
		figure(chargeDesc, supply.State.Charge, id)
		figure(runtimeDesc, supply.State.Left, id)
		figure(loadDesc, supply.State.Load, id)
		figure(slackDesc, supply.Slack, id)
		gauge(batteryDesc, truth(supply.State.Mains == power.MainsOnBattery), id)
		gauge(gateDesc, truth(supply.Gate), id)
	}
	for i := range view.Nodes {
		if n := &view.Nodes[i]; !n.SeenAt.IsZero() {
			gauge(ageDesc, time.Since(n.SeenAt).Seconds(), n.ID)
		}
	}
}

// collectProofs makes the series of what was shown to work, and when.
func (d *Daemon) collectProofs(gauge func(desc *prometheus.Desc, v float64, labels ...string)) {
	site := d.site.Load()
	supplies, nodes := d.learned.proofs(site)
	stamp := func(desc *prometheus.Desc, p Proof) {
		at := 0.0
		if !p.At.IsZero() {
			at = float64(p.At.UnixMilli()) / 1000
		}
		gauge(desc, at, p.ID)
	}
	for _, p := range supplies {
		stamp(drainedDesc, p)
	}
	for _, p := range nodes {
		stamp(returnedDesc, p)
	}
	for _, s := range site.compiled.Supplies {
		if s.Capacity.Burn > 0 {
			gauge(capacityDesc, s.Capacity.Burn, s.ID)
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
