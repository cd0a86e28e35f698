package nut

import (
	"math"
	"strconv"
	"strings"

	"ebbtide/internal/power"
)

// The variables that a reading is made from. The first four change from one second to the next.
const (
	varStatus      = "ups.status"
	varCharge      = "battery.charge"
	varRuntime     = "battery.runtime"
	varLoad        = "ups.load"
	varRealPower   = "ups.realpower"
	varVoltage     = "input.voltage"
	varTransferLow = "input.transfer.low"
	varNominal     = "input.voltage.nominal"
	varRuntimeLow  = "battery.runtime.low"
	varTestResult  = "ups.test.result"
	varAmbient     = "ambient.temperature"
	varBatteryTemp = "battery.temperature"
	varUPSTemp     = "ups.temperature"
)

// ReadingFrom makes a fresh reading of what a UPS says. A figure that is no number or can't be true is left out; the
// bounds come from 528 device dumps.
func ReadingFrom(supply string, vars []Var) power.Reading {
	r := power.Reading{Supply: supply, Link: power.Fresh}
	var realPower, runtime power.Figure
	for _, v := range vars {
		switch v.Name {
		case varStatus:
			r.Status = power.ParseStatus(bare(v.Value))
		case varCharge:
			r.Charge = charge(number(v.Value))
		case varRuntime:
			runtime = number(v.Value)
		case varLoad:
			r.Load = within(number(v.Value), 0, 200)
		case varRealPower:
			realPower = number(v.Value)
		case varVoltage:
			r.Voltage = within(number(v.Value), 0, 1000)
		case varTransferLow:
			r.TransferLow = within(number(v.Value), 1, 1000)
		case varNominal:
			r.Nominal = within(number(v.Value), 5, 1000)
		case varTestResult:
			r.TestFailed = testFailed(bare(v.Value))
		case varRuntimeLow:
			r.RuntimeLow = within(number(v.Value), 1, day)
		case varAmbient, varBatteryTemp, varUPSTemp:
			r.Temperature = hotter(r.Temperature, within(number(v.Value), -20, 120))
		}
	}
	onBattery := r.Status.Has(power.OB) && !r.Status.Has(power.OL)
	if r.Load.Value == 0 && realPower.Value > 0 {
		r.Load = power.Figure{}
	}
	r.Runtime = runtimeOf(runtime, r, onBattery)
	if r.Nominal.Known {
		r.TransferLow = within(r.TransferLow, 0.4*r.Nominal.Value, r.Nominal.Value)
	}
	if !onBattery && !r.Status.MayDischarge() {
		r.Voltage = voltageOnLine(r.Voltage, r.Nominal)
	}
	return r
}

// testFailed reads the result of the last battery test, of which each driver has words of its own: "Done and error"
// (usbhid-ups), "Failed" (snmp-ups), "NG" and "BT" (apcsmart: overload, bad battery). "Done and warning" is a pass.
func testFailed(result string) bool {
	word := strings.ToLower(result)
	return word == "ng" || word == "bt" || strings.Contains(word, "fail") || strings.Contains(word, "error")
}

const day = 24 * 60 * 60

// bare strips what device dumps, and drivers fed from them, add to a value: "65535\t#BAD: overflow?".
func bare(value string) string {
	value, _, _ = strings.Cut(value, "#")
	return strings.TrimSpace(value)
}

// number reads a decimal number. "36:00" and "XX.X" are none.
func number(value string) power.Figure {
	v, err := strconv.ParseFloat(bare(value), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return power.Figure{}
	}
	return power.Known(v)
}

func within(f power.Figure, least, most float64) power.Figure {
	if f.Value < least || f.Value > most {
		return power.Figure{}
	}
	return f
}

// charge takes 100 to 120 as full: four dumps of CyberPower and others say up to 120 when the battery is full. More, and
// less than none, is nonsense (255, 1000, -197).
func charge(f power.Figure) power.Figure {
	f = within(f, 0, 120)
	f.Value = min(f.Value, 100)
	return f
}

// runtimeOf drops what UPSes say when they do not know: -1, 65535, 3932100 (65535 minutes), more than a day at a load, and
// 0 on line. On battery 0 is believed only of a battery that may be empty: ten dumps say 0 for ever.
func runtimeOf(f power.Figure, r power.Reading, onBattery bool) power.Figure {
	light := r.Load.Known && r.Load.Value <= 10
	empty := onBattery && (r.Status.Has(power.LB) || !r.Charge.Known || r.Charge.Value < 20)
	switch {
	case f.Value < 0, f.Value == 65535, f.Value == 3932100, f.Value > day && !light, f.Value == 0 && !empty:
		return power.Figure{}
	}
	return f
}

// voltageOnLine drops a voltage that the UPS could not be on line with: the sensor is wrong or missing.
func voltageOnLine(v, nominal power.Figure) power.Figure {
	if nominal.Known {
		return within(v, 0.5*nominal.Value, 1.5*nominal.Value)
	}
	return within(v, 5, 1000)
}

func hotter(a, b power.Figure) power.Figure {
	if !a.Known || b.Known && b.Value > a.Value {
		return b
	}
	return a
}
