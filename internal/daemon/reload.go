package daemon

import (
	"context"
	"fmt"
	"time"

	"ebbtide/internal/runner"
)

// Reload reads the runbook again and takes it over. A runbook with mistakes (*MistakesError) and one that comes in an
// outage (runner.ErrOutageOpen) are refused; then everything goes on as it was. The API's certificate is read again in
// any case. The other settings need a restart.
func (d *Daemon) Reload(ctx context.Context) error {
	d.loading.Lock()
	defer d.loading.Unlock()
	tellSystemd(d.log, reloading())
	defer tellSystemd(d.log, "READY=1")
	if d.identity != nil {
		if err := d.identity.load(); err != nil {
			d.log.Error("the API keeps its present certificate", keyError, err)
		}
	}
	err := d.reload(ctx)
	if err != nil {
		d.log.Error("the runbook was not reloaded: the previous one stays in effect", keyError, err)
		return fmt.Errorf("cannot reload: %w", err)
	}
	s := d.site.Load()
	d.log.Info("the runbook was reloaded", "runbook", s.Runbook.Name, "nodes", s.compiled.Estate.Len(), "digest", s.digest)
	return nil
}

func (d *Daemon) reload(ctx context.Context) error {
	if d.history.isOpen() {
		return fmt.Errorf("%w: try again when it is over", runner.ErrOutageOpen)
	}
	rb, err := d.readRunbook()
	if err != nil {
		return err
	}
	old := d.site.Load()
	next, err := d.openSite(ctx, rb, old.known(), false)
	if err != nil {
		return err
	}
	err = d.runner.Reload(ctx, next.reloaded(), func() {
		d.site.Store(next)
		d.heard.expect(rb.Runbook)
	})
	if err != nil {
		if closing := next.Close(); closing != nil {
			d.log.Warn("a connection can't be closed", keyError, closing)
		}
		return err
	}
	d.keep(rb)
	select {
	case d.reloaded <- struct{}{}: // what its supplies offer is asked anew
	default:
	}
	d.feed.start(d.servers(next.Estate), d.pollerOptions(), d.read)
	d.learned.weigh(next.compiled.Estate, time.Now())
	if err := old.Close(); err != nil {
		d.log.Warn("a connection can't be closed", keyError, err)
	}
	return nil
}
