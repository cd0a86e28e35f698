// Package power turns readings of a supply into a debounced power state and an estimate of what its battery has
// left, and judges the trigger rules of a runbook against them. It is pure: time comes in as an argument.
package power

import "strings"

// Status is the set of status words in a UPS's ups.status, as NUT defines them (NUT developer guide, "Status data").
// Unknown words are ignored, as the guide demands of clients.
type Status uint32

// The status words that NUT drivers publish.
const (
	OL      Status = 1 << iota // on line
	OB                         // on battery: input power is lost
	LB                         // low battery
	HB                         // high battery
	RB                         // replace battery
	CHRG                       // charging
	DISCHRG                    // discharging
	BYPASS                     // on bypass: no battery protection
	CAL                        // calibrating or testing: discharges on purpose
	OFF                        // not supplying the load
	OVER                       // overloaded
	TRIM                       // trimming the input voltage
	BOOST                      // boosting the input voltage
	FSD                        // forced shutdown, latched in upsd
	ALARM                      // the driver reports an alarm
	WAIT                       // upsd waits for the driver's first dump: says nothing
)

var statusWords = [...]string{"OL", "OB", "LB", "HB", "RB", "CHRG", "DISCHRG", "BYPASS", "CAL", "OFF", "OVER", "TRIM", "BOOST", "FSD", "ALARM", "WAIT"}

// ParseStatus reads the words of ups.status, in any case and with any blanks between them.
func ParseStatus(s string) Status {
	var st Status
	for word := range strings.FieldsSeq(s) {
		for i, known := range statusWords {
			if strings.EqualFold(word, known) {
				st |= 1 << i
			}
		}
	}
	return st
}

// Has reports whether all words of want are set.
func (s Status) Has(want Status) bool { return s&want == want }

// String gives the words in NUT's spelling, in a fixed order.
func (s Status) String() string {
	var words []string
	for i, word := range statusWords {
		if s&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// Figure is a number that a UPS may or may not report. The zero Figure is "not reported".
type Figure struct {
	Value float64 `json:"value"`
	Known bool    `json:"known"`
}

// Known makes a reported figure.
func Known(v float64) Figure { return Figure{Value: v, Known: true} }

// Link says how fresh a reading is.
type Link uint8

// The states of the link between Ebbtide and a UPS.
const (
	Fresh Link = iota // the UPS was read just now
	Stale             // upsd answers, but its driver has lost the UPS (DATA-STALE, DRIVER-NOT-CONNECTED)
	Lost              // upsd does not answer
)

func (l Link) String() string { return [...]string{"fresh", "stale", "lost"}[l] }

// Reading is what one poll of one supply said. Status and figures are valid only with a Fresh link; figures that the
// UPS does not report, or that are absurd (battery.runtime 65535, a charge of 255%), are unknown.
type Reading struct {
	Supply      string `json:"supply"`
	Link        Link   `json:"link"`
	Status      Status `json:"status"`
	Charge      Figure `json:"charge"`                // battery.charge, 0..100%
	Runtime     Figure `json:"runtime"`               // battery.runtime, seconds
	Load        Figure `json:"load"`                  // ups.load, 0..200% of nominal
	Voltage     Figure `json:"voltage"`               // input.voltage, V
	TransferLow Figure `json:"transfer_low"`          // input.transfer.low, V: below it the input counts as browned out
	Nominal     Figure `json:"nominal"`               // input.voltage.nominal, V
	Temperature Figure `json:"temperature"`           // the hottest of ambient.temperature, battery.temperature, ups.temperature, °C
	RuntimeLow  Figure `json:"runtime_low"`           // battery.runtime.low, seconds: where the UPS raises LB
	TestFailed  bool   `json:"test_failed,omitempty"` // ups.test.result: the last battery test failed
	Rehearsed   bool   `json:"rehearsed,omitempty"`   // that its output is off: the battery goes on feeding its load
	Detail      string `json:"detail,omitempty"`
}
