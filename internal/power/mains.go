package power

// Mains is what is known of a supply's input power.
type Mains uint8

// The states of the mains.
const (
	MainsUnknown   Mains = iota // the supply has never said
	MainsOnline                 // present, or a calibration that runs on the battery on purpose
	MainsOnBattery              // lost; also a supply that fell silent after it said so
)

var mainsNames = [...]string{"unknown", "on line", "on battery"}

func (m Mains) String() string { return mainsNames[m] }

// says reports whether the words mean anything at all. An empty ups.status and WAIT (upsd has no dump of its driver yet)
// do not: such a reading counts as silence.
func (s Status) says() bool { return s != 0 && !s.Has(WAIT) }

// any reports whether one of the words of want is set.
func (s Status) any(want Status) bool { return s&want != 0 }

// mains reads the words; before is what was known until now.
//
//   - CAL is a discharge on purpose and counts as on line, whatever stands beside it.
//   - OL OB together is sent by three HP models in the device dumps while they are on line (also with DISCHRG), so OL
//     wins; with LB as well the pessimistic reading wins.
//   - Neither of them: a UPS that charges, trims, boosts or bypasses has mains; one that discharges has none; other
//     words (ALARM, OFF, RB, …) say nothing of the mains.
func (s Status) mains(before Mains) Mains {
	switch {
	case s.Has(CAL):
		return MainsOnline
	case s.Has(OL | OB | LB):
		return MainsOnBattery
	case s.Has(OL):
		return MainsOnline
	case s.Has(OB):
		return MainsOnBattery
	case s.any(CHRG | TRIM | BOOST | BYPASS):
		return MainsOnline
	case s.Has(DISCHRG):
		return MainsOnBattery
	}
	return before
}

// MayDischarge reports whether the words speak of a discharge, or of a low battery, and of nothing that only mains do.
func (s Status) MayDischarge() bool { return s.any(DISCHRG|LB) && !s.any(CHRG|BOOST|TRIM|BYPASS) }

// words are those of the UPS, but that they say OB where they speak of a discharge, or of a low battery, and there is no voltage at the
// input: several say OL DISCHRG with their mains gone (for which NUT's usbhid-ups has onlinedischarge_onbattery), or stay in a calibration.
// The words alone prove nothing there: some say so while they are on line.
func (t *Tracker) words(r *Reading) Status {
	if r.Status.MayDischarge() && t.HasNoInput(r) {
		return r.Status&^(OL|CAL) | OB
	}
	return r.Status
}

// HasNoInput reports whether a reading tells a voltage of the input at which the mains are really gone: less than half of what they were
// when the supply was plainly on line. A sensor that never showed any says nothing.
func (t *Tracker) HasNoInput(r *Reading) bool {
	return r.Voltage.Known && r.Voltage.Value < t.volts/2
}

// low reports whether the words say that the battery is nearly empty, given that the supply is on battery.
func (s Status) low(m Mains) bool { return m == MainsOnBattery && s.Has(LB) }

// forcedDown reports whether NUT's primary has ordered everybody down, given that the supply is on battery: FSD is a latch that several
// UPSes and upsd itself leave set on line. It is no word about the battery: it is set for others by Ebbtide itself too (nut.secondaries),
// with as much time left as there is.
func (s Status) forcedDown(m Mains) bool { return m == MainsOnBattery && s.Has(FSD) }

// outputOff reports whether the words say that the load gets no power. Some UPSes always say OFF beside OL; what one that does not
// (plain) says of its output on battery is so.
func (s Status) outputOff(plain bool) bool {
	return s.Has(OFF) && (!s.any(OL|OB|BYPASS|CAL) || plain && s.Has(OB) && !s.Has(CAL))
}
