// Package daemon puts the parts together: settings, runbook, journal, estate, engine, runner, NUT and the HTTP API, in
// one straight line, with a named way back for each of them.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/secrets"
	"ebbtide/internal/config"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
	"ebbtide/internal/runner"
)

// Options are what a daemon is made from.
type Options struct {
	Config   config.Config
	Families []adapter.Family // the part of the runbook language that the adapters give, and how to open it
	Version  string           // of the program, for the status and the journal
	Log      *slog.Logger     // nil: slog.Default
}

// Daemon is made by Open and works in Run. Its other methods may be called at any time.
type Daemon struct {
	options    Options
	conduct    conduct
	log        *slog.Logger
	secrets    adapter.Secrets
	journal    *lazyJournal
	runner     *runner.Runner
	access     *access
	identity   *identity // nil: the API speaks no TLS
	listener   net.Listener
	pager      *pager
	metrics    *metrics
	heard      *heard
	history    *history
	met        map[string]bool // nodes that the open outage of before has on record as having been there
	cache      *statusCache
	streams    *streams
	began      time.Time
	site       atomic.Pointer[site] // the estate as it is now
	asides     atomic.Pointer[[]string]
	uncut      sync.Map                 // by supply: why its output can't be cut
	quirks     sync.Map                 // of supplies, as they were told: once each
	reloaded   chan struct{}            // has something when another run book is in force
	lacks      atomic.Pointer[[]string] // what supplies, and this machine, can't do of what the runbook wants, as they said at the start
	learned    *learning
	moved      chan struct{} // has something when there are new records
	feed       feed
	loading    sync.Mutex // one reload or refresh at a time
	rehearsing sync.Mutex // one rehearsal at a time
	undo       cleanups
}

// Keys of log attributes.
const (
	keyComponent = "component"
	keyError     = "error"
	keyNode      = "node"
)

// Open reads and opens all that the settings name. Nothing is polled or commanded before Run. Errors that a caller may
// look for: *MistakesError, *journal.InUseError, *journal.VersionError, *journal.DamagedError of a file that is no journal,
// *OpenOutageError.
func Open(ctx context.Context, o Options) (_ *Daemon, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	d := &Daemon{
		options: o, log: o.Log.With(keyComponent, "daemon"), secrets: secrets.New(o.Config.Credentials), began: time.Now(),
		moved: make(chan struct{}, 1), reloaded: make(chan struct{}, 1),
	}
	d.conduct = d.newConduct()
	defer func() {
		if err != nil {
			err = errors.Join(err, d.undo.run())
		}
	}()
	if d.access, err = newAccess(o.Config, d.secrets, d.log); err != nil {
		return nil, err
	}
	if d.identity, err = newIdentity(o.Config, d.secrets); err != nil {
		return nil, err
	}
	rb, mistaken := d.readRunbook()
	if mistaken != nil && !d.isKept() {
		return nil, mistaken
	}
	d.journal = &lazyJournal{path: o.Config.Journal, by: "ebbtide " + o.Version}
	d.undo.add("close the journal", d.journal.close)
	newest, lost, err := d.recall()
	if err != nil {
		return nil, err
	}
	past, err := d.openOutage(newest)
	if err != nil {
		return nil, err
	}
	if past != nil {
		rb, mistaken = d.resumeRunbook(rb, mistaken)
	}
	if mistaken != nil {
		return nil, mistaken
	}
	d.heard = newHeard(rb.Runbook)
	d.history, d.met = newHistory(past), metIn(past)
	d.learned = d.recollect(ctx)
	site, err := d.openSite(ctx, rb, lastInventory(newest), past != nil)
	if err != nil {
		return nil, err
	}
	d.site.Store(site)
	d.keep(rb)
	d.learned.weigh(site.compiled.Estate, time.Now())
	d.tellUnproven()
	d.undo.add("close the connections", func() error { return d.site.Load().Close() })
	eng, err := d.makeEngine(site, newest, past)
	if err != nil {
		return nil, err
	}
	d.pager = newPager(o.Config.Notify.Command, d.log)
	d.lookAside()
	d.tellAside()
	d.tellEdited()
	d.runner = runner.New(runner.Options{
		Engine: eng, Journal: d.journal, Lost: lost, Log: o.Log, Notify: d.notify, Recorded: d.recorded,
		Nodes:    func(id string) (adapter.Node, bool) { return d.site.Load().Node(id) },
		Forecast: d.estimate,
	})
	d.metrics = newMetrics(d)
	d.cache, d.streams = newStatusCache(d.status), newStreams()
	if d.listener, err = listen(ctx, o.Config.Listen, d.identity); err != nil {
		return nil, err
	}
	d.undo.add("close the listener", func() error {
		if err := d.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return d, nil
}

// makeEngine makes the engine, or takes up the outage that the journal left open.
func (d *Daemon) makeEngine(s *site, newest, past []ledger.Record) (*engine.Engine, error) {
	settings := engine.Settings{
		Estate: s.compiled.Estate, Policy: s.compiled.Policy, Supplies: s.compiled.Supplies, Members: s.inventory, Mode: d.conduct.mode(),
	}
	if len(newest) > 0 {
		settings.Newest = newest[0].Outage
	}
	if past == nil {
		return engine.New(settings), nil
	}
	d.log.Warn("an outage is open in the journal: it is resumed", "outage", past[0].Outage)
	d.conduct.resumed(s, past)
	return engine.Restored(settings, past)
}

// Addr is where the API listens.
func (d *Daemon) Addr() net.Addr { return d.listener.Addr() }

// Run works until ctx ends, once, and closes everything. An outage that is under way then stays open in the journal,
// and the next start takes it up again.
func (d *Daemon) Run(ctx context.Context) error {
	run, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	failed := make(chan error, 2)
	server := d.server()
	runnerEnds, endRunner := context.WithCancel(context.WithoutCancel(ctx)) // the runner ends after what talks to it
	all.Go(func() { d.pager.run(runnerEnds) })
	all.Go(func() { failed <- d.runner.Run(runnerEnds) })
	all.Go(func() { failed <- serve(server, d.listener) })
	d.feed.start(d.servers(d.site.Load().Estate), d.pollerOptions(), d.read)
	var helpers sync.WaitGroup
	helpers.Go(func() { d.supervise(run) })
	helpers.Go(func() { d.refresh(run) })
	helpers.Go(func() { d.tellWaits(run) })
	helpers.Go(func() { d.watchMeans(run) })
	d.log.Info("running", "runbook", d.site.Load().Runbook.Name, "mode", d.conduct.mode(), "listen", d.options.Config.Listen.String())

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	tellSystemd(d.log, "STOPPING=1")
	stop()
	err = errors.Join(err, shut(server))
	d.feed.stop()
	helpers.Wait()
	endRunner()
	all.Wait()
	close(failed)
	for late := range failed {
		err = errors.Join(err, late)
	}
	return errors.Join(err, d.undo.run())
}

// read takes one reading of a supply.
func (d *Daemon) read(r power.Reading) {
	d.heard.note(r)
	d.runner.Read(d.site.Load().rehearsals.reading(r))
}

// notify tells people.
func (d *Daemon) notify(urgent bool, text string) {
	d.pager.send(urgent, text)
}

// recorded follows the records as they are made durable.
func (d *Daemon) recorded(records []ledger.Record) {
	select {
	case d.moved <- struct{}{}:
	default:
	}
	for _, r := range records {
		d.history.add(r)
		if r.Kind == ledger.Closed {
			tl := d.history.latest()
			d.metrics.closed(tl)
			d.ended(tl)
		}
		d.conduct.recorded(&r)
	}
}

// cleanups are what is to be undone, each with its name, the newest first.
type cleanups []struct {
	what string
	do   func() error
}

func (c *cleanups) add(what string, do func() error) {
	*c = append(*c, struct {
		what string
		do   func() error
	}{what, do})
}

func (c *cleanups) run() error {
	var errs []error
	for _, one := range slices.Backward(*c) {
		if err := one.do(); err != nil {
			errs = append(errs, fmt.Errorf("cannot %s: %w", one.what, err))
		}
	}
	*c = nil
	return errors.Join(errs...)
}
