package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/daemon"
	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
	"ebbtide/internal/timeline"
)

// asked turns a client's error into one with its exit code.
func asked(err error) error {
	var refused *daemon.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return fail(exitRefused, refused.Hint(), "%w", err)
	case errors.Is(err, context.Canceled):
		return err
	case isCertificate(err):
		return fail(exitUnreachable, "give --ca-file the CA or the certificate to trust, or let --config read it from the daemon's settings", "%w", err)
	default:
		return fail(exitUnreachable, "check that it is running (systemctl status ebbtide) and listens at that address (--listen, --config)",
			"%w", err)
	}
}

func isCertificate(err error) bool {
	_, wrong := errors.AsType[*tls.CertificateVerificationError](err)
	return wrong
}

func (a *app) status() *cobra.Command {
	var r reach
	var watch bool
	c := &cobra.Command{
		Use: "status", GroupID: "daemon", Short: "show the supplies, the outage and its steps", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := r.client()
			if err != nil {
				return err
			}
			if watch {
				return a.watch(c.Context(), client)
			}
			s, err := client.Status(c.Context())
			if err != nil {
				return asked(err)
			}
			if a.format == "json" {
				return a.json(s)
			}
			writeStatus(a.Stdout, s)
			return nil
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "keep showing it as it changes, at most once a second")
	r.flags(c)
	return c
}

func (a *app) order(verb, doc string) *cobra.Command {
	var r reach
	c := &cobra.Command{
		Use: verb, GroupID: "daemon", Short: doc, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.give(c.Context(), &r, verb, "") },
	}
	r.flags(c)
	return c
}

func (a *app) nodeOrder(verb, doc string) *cobra.Command {
	var r reach
	c := &cobra.Command{
		Use: verb + " NODE", GroupID: "daemon", Short: doc, Args: exactly(1, "one node"),
		RunE: func(c *cobra.Command, args []string) error { return a.give(c.Context(), &r, verb, args[0]) },
	}
	r.flags(c)
	return c
}

// give sends an operator's command.
func (a *app) give(ctx context.Context, r *reach, verb, node string) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	by := "someone"
	if u, err := user.Current(); err == nil {
		by = u.Username
	}
	taken, err := client.Command(ctx, daemon.Command{Verb: ledger.OrderVerb(verb), Node: node, By: by})
	if err != nil {
		return asked(err)
	}
	if a.format == "json" {
		return a.json(struct {
			Done      string `json:"done"`
			Node      string `json:"node,omitempty"`
			Observing bool   `json:"observing,omitempty"`
		}{verb, node, taken.Observing})
	}
	done := "done"
	if taken.Observing {
		done = "noted; Ebbtide only observes, and sends no commands"
	}
	fmt.Fprintln(a.Stderr, strings.TrimSpace(verb+" "+node)+": "+done)
	return nil
}

// writeStatus writes what the daemon knows for people.
func writeStatus(w io.Writer, s *daemon.Status) {
	armed := "armed"
	if !s.Armed {
		armed = "observing only: it sends no commands (armed: false)"
	}
	fmt.Fprintf(w, "%s, %s\n%s\n\n", s.Runbook, armed, s.Text)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SUPPLY\tSTATE\tCHARGE\tLOAD\tLEFT\tSLACK")
	for i := range s.View.Supplies {
		v := &s.View.Supplies[i]
		text := v.Text
		if v.Cut {
			text = cutWords(s) + text
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, text, percent(v.State.Charge), percent(v.State.Load),
			seconds(v.State.Left), seconds(v.Slack))
	}
	_ = t.Flush() // to where the rest goes
	writeReasons(w, &s.View)
	for _, lack := range s.Lacks {
		fmt.Fprintf(w, "\n%s\n", lack)
	}
	for _, id := range s.Blind {
		fmt.Fprintf(w, "\n%s has never answered: what it covers is unknown\n", id)
	}
	writeNodes(w, s)
	writeProofs(w, &s.Proofs)
	if s.Outage != nil {
		writeOutage(w, s)
	}
	fmt.Fprintln(w)
	for _, sentence := range s.Policy {
		fmt.Fprintln(w, sentence)
	}
}

// observed reports whether an outage is open in which nothing is commanded: all that is told of it is what would be.
func observed(s *daemon.Status) bool { return !s.Armed && s.View.Outage != "" }

func cutWords(s *daemon.Status) string {
	if observed(s) {
		return "output would be cut, "
	}
	return "output cut, "
}

// writeReasons says of each supply why its shutdown is or is not starting now, and whether the reserve is enough.
func writeReasons(w io.Writer, v *engine.View) {
	for i := range v.Supplies {
		if s := &v.Supplies[i]; s.Why != "" {
			fmt.Fprintf(w, "\n%s: %s.\n", s.ID, s.Why)
		}
	}
	if v.Tail > v.Reserve {
		fmt.Fprintf(w, "\nThe reserve of %s may be too short: flush, stop and cut take %s in 99 of 100 runs.\n", brief(v.Reserve), brief(v.Tail))
	}
}

// writeNodes counts the nodes, supplies apart, by what they were last seen as, and names those that do not answer.
func writeNodes(w io.Writer, s *daemon.Status) {
	counts := map[plan.State]int{}
	var odd, whys []string
	for i := range s.View.Nodes {
		n := &s.View.Nodes[i]
		if n.Type == runbook.SupplyType || !n.Probed {
			continue
		}
		counts[n.Seen.State]++
		if n.Seen.State == plan.Unreachable || n.Seen.State == plan.Unknown {
			odd = append(odd, n.ID)
			if n.NoAnswer != "" {
				whys = append(whys, n.ID+": "+n.NoAnswer)
			}
		}
	}
	var parts []string
	for _, st := range []plan.State{plan.On, plan.Off, plan.Starting, plan.Stopping, plan.Unreachable, plan.Unknown, plan.Gone} {
		if counts[st] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[st], st))
		}
	}
	if len(parts) > 0 {
		what := "Nodes"
		if observed(s) {
			what = "Nodes (as they would be)"
		}
		fmt.Fprintf(w, "\n%s: %s\n", what, strings.Join(parts, ", "))
	}
	if len(odd) > 0 {
		fmt.Fprintf(w, "No answer: %s\n", strings.Join(odd, ", "))
	}
	for _, why := range whys[:min(len(whys), mostWhys)] {
		fmt.Fprintf(w, "  %s\n", why)
	}
}

// mostWhys is of how many nodes status says why they do not answer.
const mostWhys = 6

// writeProofs names what nobody has seen to work, or not for long.
func writeProofs(w io.Writer, p *daemon.Proofs) {
	if len(p.Never) > 0 {
		fmt.Fprintf(w, "Not yet proven by an outage or a drill: %s\n", english.List(p.Never, 6))
	}
	var old []string
	for _, one := range p.Overdue {
		old = append(old, one.ID)
	}
	if len(old) > 0 {
		fmt.Fprintf(w, "Not proven for more than %d days: %s\n", p.Days, english.List(old, 6))
	}
}

func writeOutage(w io.Writer, s *daemon.Status) {
	o := s.Outage
	what := "Outage"
	if s.View.Drill {
		what = "Drill"
	}
	fmt.Fprintf(w, "\n%s %s since %s", what, o.Outage, o.Start.Local().Format("15:04:05"))
	if observed(s) {
		fmt.Fprint(w, ", only observed: no commands are sent")
	}
	fmt.Fprintln(w)
	if s.View.Waiting != "" {
		fmt.Fprintf(w, "Now: %s\n", s.View.Waiting)
	}
	if s.View.Hold {
		fmt.Fprintln(w, map[bool]string{
			false: "On hold: nothing new is started; `ebbtide resume` ends the hold",
			true:  "On hold: nothing new would be started; `ebbtide resume` ends the hold",
		}[observed(s)])
	}
	writeSteps(w, s)
	writeWaiting(w, &s.View)
}

// writeSteps lists the steps. How long one took that was only rehearsed says nothing.
func writeSteps(w io.Writer, s *daemon.Status) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = t.Flush() }() // to where the rest goes
	if observed(s) {
		fmt.Fprintln(t, "STEP\tNODE\tWOULD BE\t")
		for i := range s.Outage.Steps {
			st := &s.Outage.Steps[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", st.Verb, st.Node, st.State, st.Reason)
		}
		return
	}
	fmt.Fprintln(t, "STEP\tNODE\tSTATE\tTOOK\t")
	for i := range s.Outage.Steps {
		st := &s.Outage.Steps[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", st.Verb, st.Node, st.State, stepTook(st, s.Now), st.Reason)
	}
}

// mostWaiting is how many nodes are named that wait for the same; --format json names them all.
const mostWaiting = 40

// writeWaiting says of each node that waits what it waits for, in the engine's words: those that wait for the same together.
func writeWaiting(w io.Writer, v *engine.View) {
	var reasons []string
	waiting := map[string][]string{}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Why == "" || n.Doing != "" && !n.Asks {
			continue
		}
		if waiting[n.Why] == nil {
			reasons = append(reasons, n.Why)
		}
		waiting[n.Why] = append(waiting[n.Why], n.ID)
	}
	if len(reasons) > 0 {
		fmt.Fprintln(w)
	}
	for _, why := range reasons {
		fmt.Fprintf(w, "%s: %s\n", english.List(waiting[why], mostWaiting), why)
	}
}

// stepTook says how long a step took, or takes until now.
func stepTook(st *timeline.Step, now time.Time) string {
	if st.Started.IsZero() {
		return ""
	}
	end := st.Ended
	if end.IsZero() {
		end = now
	}
	return brief(end.Sub(st.Started))
}

func percent(f power.Figure) string {
	if !f.Known {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", f.Value)
}

func seconds(f power.Figure) string {
	if !f.Known {
		return "-"
	}
	d := time.Duration(f.Value) * time.Second
	if d < 0 {
		return "-" + brief(-d)
	}
	return brief(d)
}
