package nuttest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Traits are what a Machine can do, and how it misbehaves.
type Traits struct {
	Commands []string // instant commands that it offers, beside those of its outlets
	Outlets  []string // "1", "group.2": each is switchable and tells its status
	OffDelay int      // ups.delay.shutdown in seconds; 0: it has none
	OnDelay  int      // ups.delay.start; 0: it has none

	KeepsDelays   bool // says yes to a SET of a delay and keeps its own
	DelayStep     int  // rounds delays up to multiples of so many seconds
	HasTimer      bool // shows ups.timer.shutdown
	DeafOnLine    bool // takes shutdown.return while the mains are there, and ignores it
	FollowsOutput bool // its driver dies with its output, as on a machine that it feeds itself, and returns with it

	// Around tells what holds around the machine at each line of its story, and stands behind it in brackets.
	Around func() string
}

// Machine is a UPS behind a Driver: it obeys instant commands, counts delays down and switches its outlets. What it does
// is kept as a story, one line each: "output off", "outlet 2 on".
type Machine struct {
	driver *Driver
	traits Traits

	mu      sync.Mutex
	mains   bool
	on      bool
	returns bool // on again with the mains
	cutAt   time.Time
	timers  []*time.Timer
	outlets map[string]bool
	story   []string
	ended   bool
}

// notRunning is what UPSes show of a timer that does not run.
const notRunning = "-1"

// Machine puts a UPS behind the driver, on line and with everything on.
func (d *Driver) Machine(traits Traits) *Machine {
	m := &Machine{driver: d, traits: traits, mains: true, on: true, outlets: map[string]bool{}}
	d.AddCommands(traits.Commands...)
	for name, seconds := range map[string]int{"ups.delay.shutdown": traits.OffDelay, "ups.delay.start": traits.OnDelay} {
		if seconds > 0 {
			d.Set(name, strconv.Itoa(seconds))
			d.Writable(name, 10)
		}
	}
	if traits.HasTimer {
		d.Set("ups.timer.shutdown", notRunning)
	}
	for _, name := range traits.Outlets {
		m.outlets[name] = true
		d.Set("outlet."+name+".switchable", "yes", "outlet."+name+".status", "on")
		d.AddCommands("outlet."+name+".load.off", "outlet."+name+".load.on")
	}
	d.mu.Lock()
	d.obeyed = m.obey
	d.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.show()
	d.t.Cleanup(m.end)
	return m
}

// Mains switches the mains.
func (m *Machine) Mains(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mains = on
	m.tell("mains " + onOff(on))
	if on && !m.on && m.returns {
		m.after(m.delay("ups.delay.start"), m.giveOutput)
	}
	m.show()
}

// Story gives what happened so far.
func (m *Machine) Story() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.story)
}

// Told reports whether something has happened.
func (m *Machine) Told(what string) bool {
	return slices.ContainsFunc(m.Story(), func(line string) bool { return strings.HasPrefix(line, what) })
}

func (m *Machine) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.stopTimers()
}

func (m *Machine) tell(line string) {
	if m.traits.Around != nil {
		line += " [" + m.traits.Around() + "]"
	}
	m.story = append(m.story, line)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// show gives the driver what the UPS says of itself.
func (m *Machine) show() {
	status, voltage := "OB DISCHRG", "230.0"
	if m.mains {
		status = "OL"
	}
	if !m.on {
		status, voltage = status+" OFF", "0.0"
	}
	m.driver.Set("ups.status", status, "output.voltage", voltage)
}

// delay is what it takes, as it says; NUT's own 20 s to a cut where it does not.
func (m *Machine) delay(name string) time.Duration {
	seconds, err := strconv.Atoi(m.driver.get(name))
	if err != nil { // it does not tell, as UPSes without the variable
		seconds = map[string]int{"ups.delay.shutdown": 20}[name]
	}
	return time.Duration(seconds) * time.Second
}

// after does something later. It needs m.mu, and so has what is done.
func (m *Machine) after(d time.Duration, do func()) {
	if m.ended {
		return
	}
	m.timers = append(m.timers, time.AfterFunc(d, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.ended {
			do()
		}
	}))
}

func (m *Machine) stopTimers() {
	for _, t := range m.timers {
		t.Stop()
	}
	m.timers, m.cutAt = nil, time.Time{}
}

// The results of a command, by NUT's STAT numbers.
const (
	handled = 0
	unknown = 1
	invalid = 2
)

// obey carries out a command or a SET that reached the driver.
func (m *Machine) obey(words []string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if words[0] == "SET" {
		return m.set(words[1], words[2])
	}
	param := ""
	if len(words) > 2 {
		param = words[2]
	}
	return m.command(words[1], param)
}

func (m *Machine) set(name, value string) int {
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds < 0 {
		return invalid
	}
	if m.traits.KeepsDelays {
		return handled
	}
	if step := m.traits.DelayStep; step > 0 {
		seconds = (seconds + step - 1) / step * step
	}
	m.driver.Set(name, strconv.Itoa(seconds))
	return handled
}

// usbDefault is what usbhid-ups takes for load.off.delay without a parameter, whatever ups.delay.shutdown says.
const usbDefault = 20 * time.Second

func (m *Machine) command(name, param string) int {
	if rest, ok := strings.CutPrefix(name, "outlet."); ok {
		return m.outlet(rest)
	}
	off := m.delay("ups.delay.shutdown")
	if seconds, err := strconv.Atoi(param); err == nil {
		off = time.Duration(seconds) * time.Second
	}
	switch name {
	case "load.off":
		m.returns = false
		m.loseOutput()
	case "load.on":
		m.giveOutput()
	case "load.off.delay":
		if param == "" { // as usbhid-ups, which takes its table's default then
			off = usbDefault
		}
		m.arm(off)
	case "load.on.delay":
		m.returns = true // once it is off, and the mains are there
	case "shutdown.return":
		if m.mains && m.traits.DeafOnLine {
			return handled
		}
		m.returns = true
		m.arm(off)
	case "shutdown.reboot":
		m.returns = true
		m.arm(off)
	case "shutdown.stayoff":
		m.returns = false
		m.arm(off)
	case "shutdown.stop":
		m.stopTimers()
		m.count()
	case "test.battery.start":
		m.driver.Set("ups.test.result", "In progress")
	default:
		return unknown
	}
	return handled
}

// arm counts down to the cut.
func (m *Machine) arm(delay time.Duration) {
	m.tell(fmt.Sprintf("cut armed, %s", delay))
	m.cutAt = time.Now().Add(delay)
	m.after(delay, m.loseOutput)
	m.count()
}

// count shows the timer, and goes on doing so while it runs.
func (m *Machine) count() {
	if !m.traits.HasTimer {
		return
	}
	left := time.Until(m.cutAt)
	if m.cutAt.IsZero() || left <= 0 {
		m.driver.Set("ups.timer.shutdown", notRunning)
		return
	}
	m.driver.Set("ups.timer.shutdown", strconv.FormatFloat(left.Seconds(), 'f', 1, 64))
	m.after(200*time.Millisecond, m.count)
}

func (m *Machine) loseOutput() {
	m.stopTimers()
	m.count()
	if m.on {
		m.on = false
		m.tell("output off")
	}
	m.show()
	if m.traits.FollowsOutput {
		m.driver.die()
	}
	if m.mains && m.returns {
		m.after(m.delay("ups.delay.start"), m.giveOutput)
	}
}

func (m *Machine) giveOutput() {
	if m.on {
		return
	}
	m.on, m.returns = true, false
	m.tell("output on")
	m.show()
	if m.traits.FollowsOutput && !m.driver.alive() {
		m.driver.Revive()
	}
}

// outlet switches one: "2.load.off", "group.1.load.on".
func (m *Machine) outlet(what string) int {
	for _, on := range []bool{true, false} {
		name, ok := strings.CutSuffix(what, ".load."+onOff(on))
		if _, has := m.outlets[name]; !ok || !has {
			continue
		}
		m.outlets[name] = on
		m.tell("outlet " + name + " " + onOff(on))
		m.driver.Set("outlet."+name+".status", onOff(on))
		return handled
	}
	return unknown
}
