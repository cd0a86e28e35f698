package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/nut/nuttest"
)

// installNAS puts the program that the NAS's cache is worked with into its place. It keeps its state in files and logs
// what it was asked, what it answered and what it did, with the time.
func (s *Site) installNAS() {
	s.SSHD.Write("protected", "no\n")
	s.SSHD.Write("dirty", "4096\n")
	s.SSHD.Write("log", "")
	s.SSHD.Write("cache.sh", `#!/bin/sh
cd "`+s.SSHD.Dir+`" || exit 1
log() { echo "$(date +%s%N) nas $*" >>log; }
if [ "$1" = state ]; then
	answer="protected=$(cat protected) dirty=$(cat dirty)"
	log "says $answer"
	echo state=on $answer | tr ' ' '\n'
	exit 0
fi
log "asked $1"
case "$1" in
protect) echo yes >protected;;
unprotect) echo no >protected;;
flush) echo 0 >dirty;;
stop) ;;
*) exit 2;;
esac
log "$1"
`)
}

// nasDid reads what the NAS logged since the last time.
func (s *Site) nasDid(read int) ([]Moment, int) {
	b, err := os.ReadFile(filepath.Join(s.SSHD.Dir, "log"))
	if err != nil {
		return nil, read
	}
	lines := strings.Split(string(b), "\n")
	lines = lines[:len(lines)-1] // empty, or half written
	var done []Moment
	for ; read < len(lines); read++ {
		stamp, what, _ := strings.Cut(lines[read], " ")
		at, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			s.t.Errorf("the NAS's log: %v", err)
		}
		if s.options.Answers || !strings.HasPrefix(what, "nas says") {
			done = append(done, Moment{At: time.Unix(0, at), What: what})
		}
	}
	return done, read
}

// NASFile reads one of the files that the NAS keeps its state in: "protected" or "dirty".
func (s *Site) NASFile(name string) string {
	b, err := os.ReadFile(filepath.Join(s.SSHD.Dir, name))
	require.NoError(s.t, err)
	return strings.TrimSpace(string(b))
}

const runbookText = `version: 1
runbook: end-to-end
supplies:
  ups: {nut: "ups@%[1]s", username: %[2]s, password: {credential: upsd}}
connections:
  vcenter: {type: vsphere, url: "%[3]s", username: "%[4]s", password: {credential: vcenter}, thumbprint: "%[5]s"}
  esx01: {type: vsphere, url: "%[10]s", username: "%[4]s", password: {credential: vcenter}, thumbprint: "%[11]s"}
  esx02: {type: vsphere, url: "%[12]s", username: "%[4]s", password: {credential: vcenter}, thumbprint: "%[13]s"}
  nas: {type: ssh, address: "%[6]s", user: %[7]s, key: {credential: nas_key}, host_key: "%[8]s"}
nodes:
  switch: {type: passive, fed_by: [ups]}
  nas:
    type: ssh
    via: nas
    fed_by: [ups]
    depends_on: [switch]
    probe: [sh, "%[9]s/cache.sh", state]
    protect: [sh, "%[9]s/cache.sh", protect]
    flush: [sh, "%[9]s/cache.sh", flush]
    unprotect: [sh, "%[9]s/cache.sh", unprotect]
    stop: [sh, "%[9]s/cache.sh", stop]
    off_when_unreachable: 1s
    off_when_refused: true
    down: {nominal: 2s, within: 20s, flush_nominal: 2s, flush_within: 20s}
    up: {wake: {power: true}, within: 30s}
  esx01: {type: vsphere.host, via: vcenter, fallback: esx01, fed_by: [ups], depends_on: [nas, switch], off_when_unreachable: 1s, down: {nominal: 3s, within: 20s}, up: {wake: {power: true}, within: 30s}}
  esx02: {type: vsphere.host, via: vcenter, fallback: esx02, fed_by: [ups], depends_on: [nas, switch], off_when_unreachable: 1s, down: {nominal: 3s, within: 20s}, up: {wake: {power: true}, within: 30s}}
  db: {type: vsphere.vm, via: vcenter, fallback: esx01, depends_on: [esx01], risk: database, down: {nominal: 2s, within: %[14]s}}
  app1: {type: vsphere.vm, via: vcenter, fallback: esx01, depends_on: [db, esx01], down: {nominal: 2s, within: %[14]s}}
  app2: {type: vsphere.vm, via: vcenter, fallback: esx02, depends_on: [db, esx02], down: {nominal: 2s, within: %[14]s}}
  spare: {type: vsphere.vm, via: vcenter, fallback: esx02, depends_on: [esx02]}
  lab: {type: vsphere.vms, via: vcenter, fallback: [esx01, esx02], select: {folder: Lab}, depends_on: [esx01, esx02], risk: expendable, expect: 2, down: {nominal: 2s, within: %[14]s}}
policy:
  protect: {when: {on_battery: 1s}}
  shed: [{name: lab, nodes: [lab], when: {on_battery: 2s}}]
  shutdown: {when: {any: [{on_battery: 4s}, {low_battery: true}, {silent_on_battery: 10s}]}}
  restore: {when: {online: %[15]s}}
  limits: {vsphere.vm: {total: 10, per_host: 4}}
  reserve: 10s
`

// Gate is how long the mains have to be back before anything is started.
const Gate = 6 * time.Second

// Files writes the runbook, the credentials and the settings, and gives the settings' path.
func (s *Site) Files(armed bool) string {
	direct := func(host string) *vspheresim.Server {
		d, err := s.VSphere.Direct(host)
		require.NoError(s.t, err)
		return d
	}
	esx01, esx02 := direct("esx01"), direct("esx02")
	vc := s.VSphere.VCenter()
	s.Write("runbook.yaml", fmt.Sprintf(runbookText, s.UPSD.Addr, nuttest.Admin, vc.URL(), vspheresim.User, vc.Thumbprint(),
		s.SSHD.Address, s.SSHD.User, s.SSHD.HostKey, s.SSHD.Dir, esx01.URL(), esx01.Thumbprint(), esx02.URL(),
		esx02.Thumbprint(), "3s", Gate))
	s.Secret("upsd", nuttest.AdminPassword)
	s.Secret("vcenter", vspheresim.Password)
	s.Secret("nas_key", s.SSHD.Key)
	return s.Settings(armed)
}
