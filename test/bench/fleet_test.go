package bench

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/vsphere"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/nut/nutsim"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// fleetSize says how large a fleet is. Each host has two supplies of its own.
type fleetSize struct {
	servers  int // of NUT
	vCenters int
	hosts    int // of each vCenter
	apps     int // VMs of each host that go first
	dbs      int // VMs of each host that the apps of the same vCenter need
	atOnce   int // VMs that may stop at the same time
	guest    time.Duration
	latency  time.Duration // of each vSphere call
}

func (z fleetSize) supplies() int { return 2 * z.vCenters * z.hosts }
func (z fleetSize) vms() int      { return z.vCenters * z.hosts * (z.apps + z.dbs) }

const (
	pollEvery     = time.Second // Ebbtide's defaults
	pollOnBattery = 250 * time.Millisecond
	triggerAfter  = 2 * time.Second // on battery
	hostOff       = time.Second
	hostSilent    = time.Second // until a host counts as off
	perHost       = 8
	fleetPassword = "high water"
)

// fleet is an estate of NUT servers and vCenters with what is seen from their side.
type fleet struct {
	fleetSize
	t      *testing.T
	dir    string
	polls  *polls
	ups    []*nutsim.UPS
	addrs  []string // of the NUT servers
	sims   []*vspheresim.Sim
	hostOf map[string]string // by VM

	mu    sync.Mutex
	story []happening
	timed sync.WaitGroup
}

// happening is one change, as the estate saw it.
type happening struct {
	at   time.Time
	what string // "vm off", "host off", "cut"
	name string
}

func newFleet(t *testing.T, size fleetSize) *fleet {
	t.Helper()
	f := &fleet{fleetSize: size, t: t, dir: t.TempDir(), polls: newPolls(), hostOf: map[string]string{}}
	var servers []*nutsim.Server
	for range size.servers {
		s, err := nutsim.Start()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		s.AddUser(nutsim.User{Name: "ebbtide", Password: fleetPassword, Commands: true, Upsmon: true})
		s.SetWitness(f.polls.see)
		servers, f.addrs = append(servers, s), append(f.addrs, s.Addr())
	}
	for i := range size.supplies() {
		f.addSupply(i, servers[i%size.servers])
	}
	f.sims = make([]*vspheresim.Sim, size.vCenters)
	for i := range f.sims {
		sim, err := vspheresim.New(vspheresim.Options{
			HostsPerCluster: size.hosts, HostPrefix: vCenter(i) + "-", HostOff: hostOff, Latency: size.latency,
			VMs: f.machines(i), OnChange: f.changed,
			Guest: func(string) vspheresim.GuestBehaviour { return vspheresim.GuestBehaviour{Delay: size.guest} },
		})
		require.NoError(t, err)
		t.Cleanup(sim.Close)
		f.sims[i] = sim
	}
	stop := make(chan struct{})
	f.timed.Go(func() { f.polls.keepTime(stop) })
	t.Cleanup(func() { close(stop); f.timed.Wait() })
	return f
}

func vCenter(i int) string    { return fmt.Sprint("vc", i) }
func supplyName(i int) string { return fmt.Sprintf("ups%03d", i) }
func (z fleetSize) host(v, h int) string {
	return fmt.Sprintf("%s-%02d", vCenter(v), h+1)
}

func (f *fleet) addSupply(i int, to *nutsim.Server) {
	name := supplyName(i)
	u := to.Add(name, "")
	u.Set("ups.status", "OL", "battery.charge", "100", "battery.runtime", "7200", "ups.load", "40", "ups.delay.shutdown", "1",
		"output.voltage", "230")
	u.OnCommand(func(string, string) error {
		f.tell("cut", name)
		f.timed.Go(func() {
			<-time.After(time.Second) // its delay
			u.Set("ups.status", "OB OFF", "output.voltage", "0")
		})
		return nil
	}, "shutdown.return", "load.on")
	f.ups = append(f.ups, u)
}

func (f *fleet) machines(v int) []vspheresim.VM {
	var vms []vspheresim.VM
	for h := range f.hosts {
		for k := range f.apps + f.dbs {
			vm := vspheresim.VM{Name: fmt.Sprintf("app-%s-%02d-%02d", vCenter(v), h, k), Host: h, Folder: "App"}
			if k >= f.apps {
				vm.Name, vm.Folder = fmt.Sprintf("db-%s-%02d-%02d", vCenter(v), h, k), "DB"
			}
			f.hostOf[vm.Name] = f.host(v, h)
			vms = append(vms, vm)
		}
	}
	return vms
}

func (f *fleet) changed(kind, name string, on bool) {
	if on {
		f.tell(kind+" on", name)
		return
	}
	f.tell(kind+" off", name)
}

func (f *fleet) tell(what, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.story = append(f.story, happening{time.Now(), what, name})
}

func (f *fleet) told() []happening {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.story)
}

func (f *fleet) count(what string) int {
	n := 0
	for _, h := range f.told() {
		if h.what == what {
			n++
		}
	}
	return n
}

// fail puts supplies on battery, all at the same instant.
func (f *fleet) fail(from, to int) time.Time {
	at := time.Now()
	for i, u := range f.ups[from:to] {
		u.Set("ups.status", "OB DISCHRG")
		f.polls.hurry(supplyName(from+i), time.Now())
	}
	return at
}

// violations are the breaches of order in what the estate saw.
func (f *fleet) violations() []string {
	var broken []string
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	appsOn, running, hostOn := map[string]int{}, map[string]int{}, map[string]bool{}
	for name, host := range f.hostOf {
		running[host]++
		hostOn[host] = true
		if strings.HasPrefix(name, "app-") {
			appsOn[host[:strings.LastIndexByte(host, '-')]]++
		}
	}
	seen := map[string]bool{}
	for _, h := range f.told() {
		host := cmp.Or(f.hostOf[h.name], h.name)
		v := host[:max(0, strings.LastIndexByte(host, '-'))]
		if seen[h.what+h.name] {
			say("%s %s twice", h.name, h.what)
		}
		seen[h.what+h.name] = true
		switch h.what {
		case "vm off":
			running[host]--
			if strings.HasPrefix(h.name, "app-") {
				appsOn[v]--
			} else if appsOn[v] > 0 {
				say("%s is off while %d VMs that need it are on", h.name, appsOn[v])
			}
		case "host off":
			hostOn[host] = false
			if running[host] > 0 {
				say("host %s is off and takes %d VMs along", host, running[host])
			}
		case "cut":
			var i int
			_, err := fmt.Sscanf(h.name, "ups%d", &i)
			require.NoError(f.t, err)
			if fed := f.host(i/2/f.hosts, i/2%f.hosts); hostOn[fed] {
				say("%s is cut while host %s is on", h.name, fed)
			}
		default:
			say("%s: %s", h.what, h.name)
		}
	}
	return broken
}

// write makes the runbook, the credentials and the settings, and gives the settings' path.
func (f *fleet) write() string {
	f.t.Helper()
	credentials := filepath.Join(f.dir, "credentials")
	require.NoError(f.t, os.MkdirAll(credentials, 0o700))
	for path, text := range map[string]string{
		"runbook.yaml": f.runbook(), "credentials/nut": fleetPassword, "credentials/vsphere": vspheresim.Password,
		"settings.yaml": "runbook: runbook.yaml\njournal: journal.db\nlisten: unix:" + f.socket() +
			"\ncredentials: credentials\narmed: true\nlog: {level: warn}\n",
	} {
		require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, path), []byte(text), 0o600))
	}
	return filepath.Join(f.dir, "settings.yaml")
}

func (f *fleet) socket() string { return filepath.Join(f.dir, "s") }

func (f *fleet) runbook() string {
	var b strings.Builder
	b.WriteString("version: 1\nrunbook: fleet\nsupplies:\n")
	for i := range f.supplies() {
		fmt.Fprintf(&b, "  %s: {nut: \"%s@%s\", username: ebbtide, password: {credential: nut}}\n", supplyName(i), supplyName(i),
			f.addrs[i%f.servers])
	}
	b.WriteString("connections:\n")
	for v, sim := range f.sims {
		vc := sim.VCenter()
		fmt.Fprintf(&b, "  %s: {type: vsphere, url: %q, username: %q, password: {credential: vsphere}, thumbprint: %q}\n", vCenter(v),
			vc.URL(), vspheresim.User, vc.Thumbprint())
	}
	b.WriteString("nodes:\n")
	for v := range f.sims {
		for h := range f.hosts {
			feed := 2 * (v*f.hosts + h)
			fmt.Fprintf(&b, "  %s: {type: vsphere.host, via: %s, fed_by: [%s, %s], off_when_unreachable: %s, down: {nominal: %s, within: "+
				"2m}, up: {wake: {power: true}}}\n",
				f.host(v, h), vCenter(v), supplyName(feed), supplyName(feed+1), hostSilent, hostOff+hostSilent)
		}
		for _, tier := range []struct {
			name, needs string
			each        int
		}{{"db", "", f.dbs}, {"app", vCenter(v) + "-db", f.apps}} {
			fmt.Fprintf(&b, "  %s-%s: {type: vsphere.vms, via: %s, select: {folder: %s}, depends_on: [%s], expect: %d, down: {nominal: "+
				"%s, within: 2m}}\n",
				vCenter(v), tier.name, vCenter(v), map[string]string{"db": "DB", "app": "App"}[tier.name], tier.needs,
				tier.each*f.hosts, f.guest)
		}
	}
	fmt.Fprintf(&b, "policy:\n  shutdown: {when: {on_battery: %s}}\n  restore: {when: {online: 1h}}\n  limits: {vsphere.vm: {total: %d, "+
		"per_host: %d}}\n  reserve: 10s\n", triggerAfter, f.atOnce, perHost)
	return b.String()
}

// scheduled is how long the plan's own schedule takes to stop all VMs, on their nominal times and under the limits.
func (f *fleet) scheduled() time.Duration {
	f.t.Helper()
	schema := adapter.Schema([]adapter.Family{vsphere.Family()})
	rb, problems := runbook.Load("runbook.yaml", []byte(f.runbook()), schema)
	require.Zero(f.t, problems.Count(runbook.Error), problems.Text())
	inventory := map[string][]plan.Member{}
	for v := range f.sims {
		for _, vm := range f.machines(v) {
			selector := vCenter(v) + "-" + strings.ToLower(vm.Folder)
			inventory[selector] = append(inventory[selector], plan.Member{ID: vm.Name, Name: vm.Name, On: true, Host: f.hostOf[vm.Name]})
		}
	}
	compiled, err := runbook.Compile(rb, schema, inventory)
	require.NoError(f.t, err)
	down := compiled.Estate.Plan(plan.Down, nil)
	schedule := down.Schedule()
	var last time.Duration
	for i, s := range down.Steps {
		if !s.Milestone && compiled.Estate.Node(s.Node).Kind == plan.VM {
			last = max(last, schedule.End[i])
		}
	}
	return last
}
