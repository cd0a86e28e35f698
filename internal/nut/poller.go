package nut

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/power"
)

// Server is one NUT server with the supplies that are read from it.
type Server struct {
	Options  Options
	Supplies []Supply
}

// Supply names a UPS of a server by a runbook's id.
type Supply struct {
	ID  string
	UPS string // its name in upsd
}

// Keys of log attributes.
const (
	keyComponent = "component"
	keyServer    = "server"
	keySupply    = "supply"
	keyUPS       = "ups"
	keyLink      = "link"
	keyError     = "error"
)

// PollerOptions set a poller's rhythm. Zero values take the defaults.
type PollerOptions struct {
	Interval  time.Duration // between two polls; 1 s; more than 30 s is cut to that, as upsd drops a client idle for 60 s
	OnBattery time.Duration // while a UPS of the server is on battery; 250 ms
	Full      time.Duration // between two readings of all variables; 30 s
	Log       *slog.Logger  // nil: slog.Default
}

// Poller reads many UPSes. Each server has a goroutine and a connection of its own, so that a slow, frozen or refusing
// one delays no other.
type Poller struct {
	options PollerOptions
	servers []Server
	deliver func(power.Reading)
}

// NewPoller makes a poller. Deliver gets one reading of each supply in each poll, a failed one too; servers call it at
// the same time, and a deliver that blocks delays its server only.
func NewPoller(o PollerOptions, servers []Server, deliver func(power.Reading)) *Poller {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.OnBattery <= 0 {
		o.OnBattery = 250 * time.Millisecond
	}
	o.Interval = min(o.Interval, 30*time.Second)
	o.OnBattery = min(o.OnBattery, o.Interval)
	if o.Full <= 0 {
		o.Full = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Poller{options: o, servers: servers, deliver: deliver}
}

// Run polls until ctx ends.
func (p *Poller) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, server := range p.servers {
		all.Go(func() { p.follow(ctx, server) })
	}
	all.Wait()
}

// source is a server as its goroutine sees it.
type source struct {
	PollerOptions
	server   Server
	log      *slog.Logger
	deliver  func(power.Reading)
	client   *Client // nil: not connected
	down     error   // why not
	retryAt  time.Time
	backoff  time.Duration
	supplies []*watched
	fulls    int // how many UPSes of this poll may still be read in full just because it is time
}

// watched is what a source knows of one UPS.
type watched struct {
	Supply
	vars      []Var // those that readings are made from
	has       []string
	status    string
	fullAt    time.Time // of the last reading of all variables
	found     *Found    // of this poll: the fast ones; nil: they were not asked for
	onBattery bool
	trouble   string // the last one that was logged
}

const (
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

func (p *Poller) follow(ctx context.Context, server Server) {
	s := &source{
		PollerOptions: p.options, server: server, deliver: p.deliver,
		log: p.options.Log.With(keyComponent, "nut", keyServer, server.Options.Address),
	}
	for _, supply := range server.Supplies {
		s.supplies = append(s.supplies, &watched{Supply: supply})
	}
	defer s.hangUp(errors.New("the poller has ended"))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		s.poll(ctx)
		timer.Reset(max(0, s.interval()-time.Since(began)))
	}
}

func (s *source) interval() time.Duration {
	if slices.ContainsFunc(s.supplies, func(w *watched) bool { return w.onBattery }) {
		return s.OnBattery
	}
	return s.Interval
}

// poll reads each UPS once and delivers what it says.
func (s *source) poll(ctx context.Context) {
	s.connect(ctx)
	// Their turns are spread: all at once would make a poll late.
	s.fulls = 1 + int(time.Duration(len(s.supplies))*s.interval()/s.Full)
	for some := range slices.Chunk(s.supplies, together) {
		err := s.ask(ctx, some)
		for _, w := range some {
			reading, err := s.read(ctx, w, err)
			if ctx.Err() != nil {
				return
			}
			s.note(w, reading, err)
			s.deliver(reading)
		}
	}
}

// together is how many UPSes are asked in one go. The answers of so many fit into the buffers of both ends.
const together = 16

// ask asks for the fast variables of those UPSes that are not due for all. The error says that nothing was heard.
func (s *source) ask(ctx context.Context, some []*watched) error {
	var wanted []Wanted
	var of []*watched
	for _, w := range some {
		w.found = nil
		if s.client == nil || w.fullAt.IsZero() {
			continue
		}
		if s.fulls > 0 && time.Since(w.fullAt) >= s.Full {
			s.fulls--
			continue
		}
		wanted, of = append(wanted, Wanted{w.UPS, w.has}), append(of, w)
	}
	if len(wanted) == 0 {
		return nil
	}
	found, err := s.client.GetSeveral(ctx, wanted...)
	if err != nil {
		return err
	}
	for i, w := range of {
		w.found = &found[i]
	}
	return nil
}

func (s *source) connect(ctx context.Context) {
	if s.client != nil || time.Now().Before(s.retryAt) {
		return
	}
	client, err := Dial(ctx, s.server.Options)
	if err != nil {
		s.down = err
		s.backOff()
		return
	}
	s.client, s.down = client, nil
}

func (s *source) backOff() {
	s.backoff = min(max(2*s.backoff, firstBackoff), maxBackoff)
	s.retryAt = time.Now().Add(s.backoff)
}

// hangUp gives up the connection.
func (s *source) hangUp(why error) {
	if s.client == nil {
		return
	}
	if err := s.client.Close(); err != nil {
		s.log.Debug("closing the connection failed", keyError, err)
	}
	s.client, s.down = nil, why
	for _, w := range s.supplies {
		w.fullAt = time.Time{}
	}
}

// read makes one reading of what was found, or why not. The error says why it is not fresh.
func (s *source) read(ctx context.Context, w *watched, err error) (power.Reading, error) {
	if s.client == nil {
		return power.Reading{Supply: w.ID, Link: power.Lost, Detail: s.down.Error()}, s.down
	}
	if err == nil {
		err = s.refresh(ctx, w)
	}
	var answer *Error
	switch {
	case err == nil:
		s.backoff = 0
		r := ReadingFrom(w.ID, w.vars)
		// What is known stays known through silence: then it is most urgent to hear more.
		w.onBattery = r.Status.Has(power.OB) && !r.Status.Has(power.OL)
		return r, nil
	case errors.As(err, &answer):
		s.backoff = 0
		w.fullAt = time.Time{}
		link := power.Lost
		if errors.Is(err, ErrDataStale) || errors.Is(err, ErrDriverNotConnected) {
			link = power.Stale
		}
		return power.Reading{Supply: w.ID, Link: link, Detail: answer.Error()}, err
	}
	s.hangUp(err)
	s.backOff()
	return power.Reading{Supply: w.ID, Link: power.Lost, Detail: err.Error()}, err
}

// fast are the variables that each poll reads; the others change slowly.
var fast = []string{varStatus, varCharge, varRuntime, varLoad}

var slow = []string{
	varRealPower, varVoltage, varTransferLow, varNominal, varRuntimeLow, varTestResult, varAmbient, varBatteryTemp, varUPSTemp,
}

// refresh brings w.vars up to date: the fast ones as found, all of them from time to time and when the status changes.
func (s *source) refresh(ctx context.Context, w *watched) error {
	switch found := w.found; {
	case found == nil:
		return s.refreshAll(ctx, w)
	case found.Err != nil:
		return found.Err
	case len(found.Vars) != len(w.has) || found.Vars[0].Value != w.status:
		return s.refreshAll(ctx, w)
	default:
		copy(w.vars, found.Vars) // the fast ones stand first, in the same order
		return nil
	}
}

func (s *source) refreshAll(ctx context.Context, w *watched) error {
	all, err := s.client.ListVar(ctx, w.UPS)
	if err != nil {
		return err
	}
	w.vars, w.has, w.status = w.vars[:0], w.has[:0], ""
	for _, name := range fast {
		if i := slices.IndexFunc(all, func(v Var) bool { return v.Name == name }); i >= 0 {
			w.vars, w.has = append(w.vars, all[i]), append(w.has, name)
		}
	}
	if len(w.has) == 0 || w.has[0] != varStatus {
		// A UPS without a status is asked for everything each time: it may be a driver that has just started.
		w.fullAt = time.Time{}
	} else {
		w.status, w.fullAt = w.vars[0].Value, time.Now()
	}
	for _, v := range all {
		if slices.Contains(slow, v.Name) {
			w.vars = append(w.vars, v)
		}
	}
	return nil
}

// note logs a change for better or worse once.
func (s *source) note(w *watched, r power.Reading, err error) {
	trouble := ""
	if err != nil {
		trouble = r.Link.String()
		if answer, ok := errors.AsType[*Error](err); ok {
			trouble = answer.Code
		}
	}
	if trouble == w.trouble {
		return
	}
	w.trouble = trouble
	log := s.log.With(keySupply, w.ID, keyUPS, w.UPS)
	switch {
	case err == nil:
		log.Info("supply answers again")
	case errors.Is(err, ErrUnknownUPS):
		log.Error("the NUT server has no such UPS: correct its name in the runbook; `upsc -l` on the server lists the names", keyError, err)
	default:
		log.Warn("supply can't be read", keyLink, r.Link.String(), keyError, err)
	}
}
