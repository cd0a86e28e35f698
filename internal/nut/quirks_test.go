package nut

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A UPS is known by what it says that it is, and what matters are the delays that its cut will have: the runbook's, or else its own.
func TestQuirks(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		vars string // name=value, …
		how  Cutting
		want []string // a part of each
	}{
		"CyberPower as delivered":         {"driver.name=usbhid-ups, device.mfr=CPS, ups.delay.shutdown=20, ups.delay.start=30", Cutting{}, []string{"cuts at once", "with or without mains power"}},
		"CyberPower set right":            {"driver.name=usbhid-ups, ups.mfr=Cyber Power Systems, ups.delay.shutdown=60, ups.delay.start=0", Cutting{}, nil},
		"CyberPower by the runbook":       {"driver.name=usbhid-ups, ups.mfr=CyberPower, ups.delay.shutdown=20, ups.delay.start=0", Cutting{Off: 2 * time.Minute}, nil},
		"CyberPower by its card":          {"driver.name=snmp-ups, ups.mfr=CyberPower, ups.delay.shutdown=20, ups.delay.start=30", Cutting{}, nil},
		"another maker":                   {"driver.name=usbhid-ups, ups.mfr=EATON, ups.delay.shutdown=20, ups.delay.start=30", Cutting{}, nil},
		"a short start by the Q protocol": {"driver.name=nutdrv_qx, ups.delay.start=60", Cutting{}, []string{"3 minutes"}},
		"the Q protocol as delivered":     {"driver.name=nutdrv_qx, ups.delay.start=180", Cutting{}, nil},
		"a small Back-UPS":                {"driver.name=usbhid-ups, ups.mfr=APC, ups.model=Back-UPS CS 350 FW:807", Cutting{}, []string{"2 s only"}},
		"Riello":                          {"driver.name=riello_usb, device.model=IDG 400", Cutting{}, []string{"only while it is on battery"}},
		"a driver that says nothing":      {"ups.mfr=CPS, ups.delay.shutdown=20", Cutting{}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var vars []Var
			for pair := range strings.SplitSeq(c.vars, ", ") {
				name, value, _ := strings.Cut(pair, "=")
				vars = append(vars, Var{Name: name, Value: value})
			}
			got := quirksOf(vars, c.how)
			require.Len(t, got, len(c.want), "%v", got)
			for i, part := range c.want {
				require.Contains(t, got[i].Says, part)
			}
		})
	}
}

// Each quirk stands in the page, with who says so.
func TestThePageHasTheQuirks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/systems/nut.md")
	require.NoError(t, err)
	for i := range quirks {
		for source := range strings.SplitSeq(quirks[i].Source, ", ") {
			if _, issue, ok := strings.Cut(source, "#"); ok {
				require.Contains(t, string(page), "#"+issue)
			} else {
				require.Contains(t, string(page), source)
			}
		}
	}
}
