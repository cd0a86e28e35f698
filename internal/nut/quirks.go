package nut

import (
	"cmp"
	"regexp"
	"strings"
	"time"
)

// Quirk is what a kind of UPS is known for, and what a cut of it has to reckon with.
type Quirk struct {
	Says   string // what it does, as a part of a sentence that begins with the supply
	Do     string // what to do about it
	Source string // who says so
}

// quirk is a Quirk and which UPSes have it.
type quirk struct {
	drivers []string                             // of NUT
	maker   *regexp.Regexp                       // also as the driver calls its protocol; nil: any
	model   *regexp.Regexp                       // nil: any
	when    func(delays map[string]float64) bool // by its variables of delays, in seconds; nil: always
	Quirk
}

var (
	cyberPower = regexp.MustCompile(`(?i)^(cps$|cyber ?power)`)
	qx         = []string{"nutdrv_qx", "blazer_usb", "blazer_ser"}
	usbHID     = []string{"usbhid-ups"}
)

// quirks are those that NUT's own pages and issues tell of.
var quirks = []quirk{
	{drivers: usbHID, maker: cyberPower, when: isBelow(varDelay, 60), Quirk: Quirk{
		Says:   "divides its delays by 60 and rounds down, as many CyberPower models do: with this offdelay it cuts at once",
		Do:     "set offdelay to 60s or more, a multiple of 60s",
		Source: "usbhid-ups(8), networkupstools/nut#578",
	}},
	{drivers: usbHID, maker: cyberPower, when: func(d map[string]float64) bool { return d[varStartDelay] > 0 }, Quirk: Quirk{
		Says:   "may switch its output back on when ondelay is over, with or without mains power, as some CyberPower models do",
		Do:     "set ondelay = 0 in ups.conf and leave it out here; then cut it with its plug pulled: the output has to stay dark",
		Source: "networkupstools/nut#625, #578, #1394",
	}},
	{drivers: qx, when: isBelow(varStartDelay, 180), Quirk: Quirk{
		Says:   "may not switch on again by itself with an ondelay below 3 minutes, as older firmware of this protocol does not",
		Do:     "set ondelay to 3m or more, or cut it once and see",
		Source: "nutdrv_qx(8)",
	}},
	{drivers: usbHID, model: regexp.MustCompile(`(?i)back-ups cs`), Quirk: Quirk{
		Says:   "is known to be off for about 2 s only, whatever ondelay says: machines may not notice that they lost their power",
		Do:     "cut it once with a machine on it, and see whether that starts; if not, wake it by another way",
		Source: "networkupstools/nut#1307",
	}},
	{drivers: []string{"usbhid-ups", "mge-shut"}, model: regexp.MustCompile(`(?i)\b5SC\b`), Quirk: Quirk{
		Says:   "gives its output back as soon as the mains are there, whatever ondelay says",
		Do:     "leave ondelay out here",
		Source: "networkupstools/nut#544",
	}},
	{drivers: []string{"riello_usb", "riello_ser"}, Quirk: Quirk{
		Says:   "may take a cut only while it is on battery, as Riello's iDialog does: when the mains come back early, its output can't be cycled",
		Do:     "wake what it feeds by another way than the return of its power",
		Source: "networkupstools/nut#530",
	}},
	{drivers: usbHID, model: regexp.MustCompile(`(?i)\bVFI 2000 RT`), Quirk: Quirk{
		Says:   "is known to take its cut and not to make it",
		Do:     "cut it once and see; if it stays on, write cut: load.off.delay, or cut: none",
		Source: "networkupstools/nut#1114",
	}},
	{drivers: []string{"huawei-ups2000"}, Quirk: Quirk{
		Says:   "takes its cut and does not make it with some firmware (V2R1C1SPC50), up to NUT 2.8.5",
		Do:     "cut it once and see; a newer NUT writes as that firmware wants it",
		Source: "networkupstools/nut#3593",
	}},
}

// isBelow reports whether a delay is given and shorter than so many seconds.
func isBelow(name string, seconds float64) func(map[string]float64) bool {
	return func(delays map[string]float64) bool {
		delay, has := delays[name]
		return has && delay < seconds
	}
}

// quirksOf tells what a UPS is known for, by what its variables say that it is, with the delays that its cut will have.
func quirksOf(vars []Var, how Cutting) []Quirk {
	driver := valueOf(vars, "driver.name")
	maker := cmp.Or(valueOf(vars, "device.mfr"), valueOf(vars, "ups.mfr"))
	protocol := valueOf(vars, "driver.version.data") // what it is inside, whoever sells it: a PowerWalker may be a CyberPower
	model := cmp.Or(valueOf(vars, "device.model"), valueOf(vars, "ups.model"))
	delays := map[string]float64{}
	for name, wanted := range map[string]time.Duration{varDelay: how.Off, varStartDelay: how.On} {
		if own := number(valueOf(vars, name)); own.Known {
			delays[name] = own.Value
		}
		if wanted > 0 {
			delays[name] = wanted.Seconds()
		}
	}
	is := func(re *regexp.Regexp, text string) bool { return re == nil || re.MatchString(strings.TrimSpace(text)) }
	var known []Quirk
	for i := range quirks {
		q := &quirks[i]
		for _, name := range q.drivers {
			if name == driver && (is(q.maker, maker) || is(q.maker, protocol)) && is(q.model, model) && (q.when == nil || q.when(delays)) {
				known = append(known, q.Quirk)
			}
		}
	}
	return known
}
