package estate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/nut"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// Supply is what a supply says, and whether it can do what the runbook wants of it.
type Supply struct {
	Supply   string         `json:"supply"`
	NUT      string         `json:"nut"` // ups@host:port
	Is       Verdict        `json:"is"`
	Status   string         `json:"status,omitempty"`   // in NUT's words
	Reading  *power.Reading `json:"reading,omitempty"`  // nil: it could not be read
	Cut      schema.Cut     `json:"cut"`                // as the runbook wants it
	Ways     []string       `json:"ways,omitempty"`     // in which it can be cut so, the one that comes first first
	Commands []string       `json:"commands,omitempty"` // that it has for its output and its outlets
	Delays   []nut.Delay    `json:"delays,omitempty"`
	Lacks    []string       `json:"lacks,omitempty"` // of what the runbook wants of it, and what is in the way
	User     string         `json:"user,omitempty"`
	UserMay  string         `json:"user_may,omitempty"` // log in or set: yes, no or unknown. Only a command shows whether he may give it.
	Error    string         `json:"error,omitempty"`
}

func (s *surveyor) askSupplies(ctx context.Context) {
	s.survey.Supplies = make([]Supply, len(s.Runbook.Supplies))
	var all sync.WaitGroup
	for i := range s.Runbook.Supplies {
		all.Go(func() { s.survey.Supplies[i] = s.askSupply(ctx, &s.Runbook.Supplies[i]) })
	}
	all.Wait()
}

func (s *surveyor) askSupply(ctx context.Context, d *runbook.SupplyDecl) Supply {
	told := Supply{Supply: d.ID, NUT: d.NUT(), Is: Well, Cut: d.Cut, User: d.Username}
	trouble := func(format string, args ...any) {
		told.Is = InTrouble
		s.remark(runbook.Trouble, runbook.SectionSupplies, d.ID, fmt.Sprintf(format, args...), "")
	}
	offer, err := ask(ctx, s.each, func(ctx context.Context) (nut.Offer, error) { return s.Examine(ctx, d) })
	if err = printable.Error(err); err != nil {
		told.Error = adapter.Plain(err)
		trouble("%s can't be queried: %s", d.ID, told.Error)
		return told
	}
	told.Reading, told.Status = &offer.Reading, offer.Reading.Status.String()
	told.Ways, told.Commands, told.Delays = offer.Ways, offer.Commands, offer.Delays
	for _, lack := range offer.Lacks {
		lack = printable.Text(lack, maxSentence)
		told.Lacks = append(told.Lacks, lack)
		trouble("%s: %s", d.ID, lack)
	}
	for _, q := range offer.Quirks {
		if told.Is == Well {
			told.Is = Doubtful
		}
		s.remark(runbook.Warning, runbook.SectionSupplies, d.ID, fmt.Sprintf("%s %s (%s)", d.ID, q.Says, q.Source), q.Do)
	}
	for _, odd := range oddities(told.Reading, s.Runbook) {
		if told.Is == Well {
			told.Is = Doubtful
		}
		s.remark(runbook.Warning, runbook.SectionSupplies, d.ID, d.ID+" "+odd, "")
	}
	if d.Username == "" {
		return told
	}
	_, err = ask(ctx, s.each, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.VerifyUser(ctx, d) })
	switch err = printable.Error(err); {
	case err == nil:
		told.UserMay = "yes"
		return told
	case errors.Is(err, nut.ErrAccessDenied):
		told.UserMay = "no"
	default:
		told.UserMay = "unknown"
	}
	trouble("it is unknown whether %s can be cut: %v", d.ID, err)
	return told
}

// maxSentence bounds in characters what is told of one thing.
const maxSentence = 1000

// oddities say what is not as it is on an ordinary day, and what the policy wants to know and the supply does not tell.
func oddities(r *power.Reading, rb *runbook.Runbook) []string {
	var odd []string
	for _, one := range []struct {
		word power.Status
		says string
	}{
		{power.OB, "is on battery"},
		{power.LB, "reports a low battery"},
		{power.RB, "reports that its battery needs replacing"},
		{power.BYPASS, "is on bypass: its battery protects nothing"},
		{power.CAL, "is discharging its battery on purpose: a calibration or a test"},
		{power.OVER, "is overloaded"},
		{power.OFF, "reports that it does not supply its load"},
		{power.FSD, "has the forced-shutdown flag (FSD) set: only a restart of upsd clears it"},
		{power.ALARM, "reports an alarm"},
	} {
		if r.Status.Has(one.word) {
			odd = append(odd, one.says)
		}
	}
	if r.Status == 0 || r.Status.Has(power.WAIT) {
		odd = append(odd, "reports no status")
	}
	if r.TestFailed {
		odd = append(odd, "reports that its last battery test failed")
	}
	for _, one := range []struct {
		kinds []power.Kind
		known bool
		what  string
	}{
		{[]power.Kind{power.ChargeBelow, power.ChargeAbove}, r.Charge.Known, "battery.charge"},
		{[]power.Kind{power.TemperatureAbove}, r.Temperature.Known, "a temperature"},
		{
			[]power.Kind{power.Brownout},
			r.Voltage.Known && (r.TransferLow.Known || r.Nominal.Known),
			"input.voltage with input.transfer.low or input.voltage.nominal",
		},
	} {
		for _, kind := range one.kinds {
			if !one.known && rb.Policy.Uses(kind) {
				odd = append(odd, fmt.Sprintf("does not report %s, which %s in the policy needs", one.what, kind))
			}
		}
	}
	return odd
}
