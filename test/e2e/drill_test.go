package e2e_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/wol"
	"ebbtide/test/site"
)

const esx02MAC = "00:25:90:ab:cd:02"

// wakeable lets esx02 be woken over the network: a magic packet on loopback powers it on.
func (s *room) wakeable() {
	s.t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(s.t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(s.t, err)
	heard := make(chan struct{})
	s.t.Cleanup(func() { require.NoError(s.t, conn.Close()); <-heard })
	want, err := wol.Packet(esx02MAC)
	require.NoError(s.t, err)
	go func() {
		defer close(heard)
		for packet := make([]byte, 1024); ; {
			n, _, err := conn.ReadFrom(packet)
			if err != nil {
				return // closed
			}
			if string(packet[:n]) == string(want) {
				_ = s.VSphere.PowerOnHost("esx02") // on already: several packets come
			}
		}
	}()
	file := filepath.Join(s.Dir, "runbook.yaml")
	text, err := os.ReadFile(file)
	require.NoError(s.t, err)
	at := strings.Index(string(text), "  esx02: {type: vsphere.host")
	require.Positive(s.t, at)
	wake := `wake: {mac: "` + esx02MAC + `", broadcast: "` + conn.LocalAddr().String() + `"}`
	s.Write("runbook.yaml", string(text[:at])+strings.Replace(string(text[at:]), "wake: {power: true}", wake, 1))
}

// TestDrills goes from one VM to a host with all that runs on it: exactly what was on comes back, and nothing else is
// touched.
func TestDrills(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(true)
	s.wakeable()
	start(t, settings)
	s.Ready()

	out, errs, code := run(t, "drill", "--config", settings, "--only", "app2", "--yes-really", "app1")
	require.Equal(t, 6, code, "%s%s", out, errs)
	require.Contains(t, errs, "not confirmed")
	out, errs, code = run(t, "drill", "--config", settings, "--only", "db", "--yes-really", "db")
	require.Equal(t, 6, code, "%s%s", out, errs)
	require.Contains(t, errs, "app1 and app2, outside the drill, need db and are not off")
	_, errs, code = run(t, "drill", "--config", settings, "--only", "esx01", "--yes-really", "esx01")
	require.Equal(t, 6, code)
	require.Contains(t, errs, "only the return of its power or a person can start esx01 again")
	require.NotContains(t, strings.Join(s.Told(), "\n"), "ShutdownGuest")

	out, errs, code = run(t, "drill", "--config", settings, "--only", "app2", "--yes-really", "app2")
	require.Zero(t, code, "%s%s", out, errs)
	require.Contains(t, out, "everything that was on is on again")
	require.Regexp(t, `(?m)^app2 .* (as expected|came back, slower than expected)$`, out)
	s.requireBefore("ShutdownGuest app2", "vm app2 off", "PowerOnVM_Task app2", "vm app2 on")
	told := strings.Join(s.Told(), "\n")
	for _, other := range []string{"db", "app1", "lab1", "lab2", "spare"} {
		require.NotContains(t, told, "ShutdownGuest "+other)
	}
	require.NotContains(t, told, "nas asked")

	before := len(s.Story())
	out, errs, code = run(t, "drill", "--config", settings, "--format", "json", "--only", "esx02", "--only", "app2", "--only",
		"lab", "--only", "spare",
		"--yes-really", "esx02 app2 lab spare")
	require.Zero(t, code, "%s%s", out, errs)
	var v struct {
		Good  bool `json:"good"`
		Nodes []struct {
			Node string `json:"node"`
		} `json:"nodes"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	require.True(t, v.Good)
	require.Len(t, v.Nodes, 4, "esx02, app2 and two of the lab")
	var after []string
	for _, m := range s.Story()[before:] {
		after = append(after, m.What)
	}
	order := strings.Join(after, "\n")
	for _, vm := range []string{"app2", "lab1"} {
		require.Less(t, strings.Index(order, "vm "+vm+" off"), strings.Index(order, "host esx02 off"), order)
		require.Less(t, strings.Index(order, "host esx02 on"), strings.Index(order, "vm "+vm+" on"), order)
	}
	require.NotContains(t, order, "host esx01")
	require.NotContains(t, order, "nas asked")
	require.NotContains(t, order, "vm spare")
	for _, vm := range site.VMs {
		require.True(t, s.VSphere.VMOn(vm), vm)
	}
	require.NotContains(t, order, "ups INSTCMD")
}

// TestADrillIsRehearsed sends nothing, armed or not.
func TestADrillIsRehearsed(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(false)
	start(t, settings)
	s.Ready()
	out, errs, code := run(t, "drill", "--config", settings, "--only", "app2", "--rehearse")
	require.Zero(t, code, "%s%s", out, errs)
	require.Contains(t, out, "would stop app2")
	require.Contains(t, out, "app2 would be on again")
	require.NotContains(t, out, "app2 is ")
	require.NotContains(t, strings.Join(s.Told(), "\n"), "ShutdownGuest")
	_, errs, code = run(t, "drill", "--config", settings, "--only", "app2", "--yes-really", "app2")
	require.Equal(t, 6, code)
	require.Contains(t, errs, "not armed")
}

// TestABatteryIsDrilled discharges the UPS's battery by its own test, through the real upsd, and takes nothing down.
func TestABatteryIsDrilled(t *testing.T) {
	t.Parallel()
	s := &room{Site: site.New(t, site.Options{Test: true}), t: t}
	settings := s.Files(true)
	start(t, settings)
	s.Ready()
	out, errs, code := run(t, "drill", "--config", settings, "--battery", "ups", "--floor", "90%", "--yes-really", "ups")
	require.Zero(t, code, "%s%s", out, errs)
	require.Contains(t, out, "by the command test.battery.start.deep")
	require.Contains(t, out, "the floor is reached at")
	s.requireBefore("ups INSTCMD test.battery.start.deep", "ups INSTCMD test.battery.stop")
	require.NotContains(t, strings.Join(s.Told(), "\n"), "ShutdownGuest")
	st, ok := s.Status()
	require.True(t, ok)
	require.Empty(t, st.View.Outage)
}

// TestTheMainsFailInADrill: what the drill had stopped comes back with all the rest.
func TestTheMainsFailInADrill(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(true)
	s.wakeable()
	start(t, settings)
	s.Ready()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan struct{})
	cmd := site.Command(ctx, binary, "drill", "--config", settings, "--only", "esx02", "--only", "app2", "--only", "lab", "--only", "spare",
		"--yes-really", "esx02 app2 lab spare")
	require.NoError(t, cmd.Start())
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { cancel(); <-ended })
	s.Until("stop of app2", time.Minute, func() bool { return s.At("vm app2 off") >= 0 })
	s.SetMains(false)
	s.Until("cut", 60*time.Second, func() bool { return s.At("ups output off") >= 0 })
	require.True(t, s.EstateOff())
	s.SetMains(true)
	s.untilRestored(90 * time.Second)
	for _, host := range s.VSphere.Hosts() {
		require.True(t, s.VSphere.HostOn(host))
	}
	require.False(t, s.VSphere.VMOn("spare"))
}
