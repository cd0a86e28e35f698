package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
	"ebbtide/internal/families"
)

func (a *app) daemon() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "daemon --config FILE", GroupID: "daemon", Short: "watch the UPSes and follow the runbook",
		Long: `Watches the UPSes and follows the runbook when mains power fails. Settings come from the file, from
EBBTIDE_* environment variables and from the flags below; later ones win.

With armed: false, the default, it only observes: it probes everything for real, sends no commands, and says
what it would do. SIGHUP reloads the runbook; if it has mistakes, or during an outage, the old one is kept.`,
		Example: "  ebbtide daemon --config /etc/ebbtide/ebbtide.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			settings, err := config.Load(file, given(c.Flags()))
			if err != nil {
				return fail(exitUsage, "see `ebbtide daemon --help`", "%w", err)
			}
			return a.runDaemon(c.Context(), settings)
		},
	}
	c.Flags().StringVar(&file, "config", "", "the settings file")
	addSettings(c.Flags())
	return c
}

// addSettings adds a flag for each setting.
func addSettings(flags *pflag.FlagSet) {
	for _, s := range config.Settings() {
		flags.String(s.Flag(), s.Default, s.Doc)
	}
}

// given lists the settings' flags that a person set.
func given(flags *pflag.FlagSet) map[string]string {
	set := map[string]string{}
	for _, s := range config.Settings() {
		if f := flags.Lookup(s.Flag()); f != nil && f.Changed {
			set[s.Flag()] = f.Value.String()
		}
	}
	return set
}

// collectsAt is how much the daemon's heap may grow, in percent of what lives, before what does not is collected; Go's default is 100.
// It is mostly idle and runs beside what it protects, so that memory is dearer than the processor's time (an outage of
// 1,000 VMs takes 9% of a core instead of 7%). GOGC in its environment is obeyed.
const collectsAt = 30

func (a *app) runDaemon(ctx context.Context, settings config.Config) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectsAt)
	}
	options := &slog.HandlerOptions{Level: settings.Log.Level}
	var handler slog.Handler = slog.NewTextHandler(a.Stderr, options)
	if settings.Log.Format == "json" {
		handler = slog.NewJSONHandler(a.Stderr, options)
	}
	log := slog.New(handler)
	if err := keepMemorySecret(); err != nil {
		log.Warn("secrets could get into a core dump", "error", err)
	}
	d, err := daemon.Open(ctx, daemon.Options{Config: settings, Families: families.All(settings.Armed), Version: a.Version, Log: log})
	if mistakes, ok := errors.AsType[*daemon.MistakesError](err); ok {
		if err := a.showProblems(mistakes.Problems, "1 runbook"); err != nil {
			return err
		}
		return &failure{code: exitMistakes, err: err, hint: mistakes.Hint()}
	}
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	go reloadOn(running, a.Reload, d)
	return d.Run(ctx)
}

// reloadOn reads the runbook again at each signal. The daemon logs why it refuses.
func reloadOn(ctx context.Context, signals <-chan os.Signal, d *daemon.Daemon) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			_ = d.Reload(ctx)
		}
	}
}
