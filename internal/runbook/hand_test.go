package runbook

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACommandIsTypedAsItArrives(t *testing.T) {
	for want, c := range map[string]Command{
		"sudo systemctl poweroff":         {Argv: []string{"sudo", "systemctl", "poweroff"}},
		`echo 'a b' '' 'it'\''s' '$HOME'`: {Argv: []string{"echo", "a b", "", "it's", "$HOME"}},
		"sync && poweroff":                {Line: "sync && poweroff"},
	} {
		require.Equal(t, want, c.Shell())
	}
}

func TestHealthAndWakeByHand(t *testing.T) {
	require.Equal(t, "nc -vz 10.0.0.30 2049", HealthCheck{TCP: "10.0.0.30:2049"}.byHand().Type)
	require.Equal(t, "dig +short @10.0.0.53 nas.lan", HealthCheck{DNS: &DNSCheck{Server: "10.0.0.53", Name: "nas.lan"}}.byHand().Type)
	require.Equal(t, "curl -fsS -o /dev/null 'https://10.0.0.10/ui?a=b'", HealthCheck{HTTP: "https://10.0.0.10/ui?a=b"}.byHand().Type)
	require.Equal(t, "ping -c 3 10.0.0.1", HealthCheck{Ping: "10.0.0.1"}.byHand().Type)
	require.Equal(t, "ntpdate -q 10.0.0.20", HealthCheck{NTP: "10.0.0.20:123"}.byHand().Type)
	w := &Wake{MAC: "00:25:90:aa:bb:11", Broadcast: "10.0.0.255:9"}
	require.Equal(t, "wakeonlan -i 10.0.0.255 00:25:90:aa:bb:11", w.byHand(nil)[0].Type)
	require.Contains(t, (&Wake{Power: true}).byHand(nil)[0].Say, "by itself")
}

func TestWakeByAPDUByHand(t *testing.T) {
	w := &Wake{PDU: "rack-a", Outlets: Outlets{3, 7}}
	hand := w.byHand(func(string) Endpoint { return Endpoint{Address: "10.0.0.71"} })
	require.Equal(t, "At the PDU rack-a, 10.0.0.71: turn outlet 3 and 7 on. If on already and it stays dark: off, wait 10 seconds, on.",
		hand[0].Say)
}

func TestWakeFindsMistakes(t *testing.T) {
	for _, tt := range []struct {
		wake Wake
		want string
	}{
		{Wake{MAC: "00:25:90:aa:bb:11", PDU: "p", Outlets: Outlets{1}}, "only one way to wake"},
		{Wake{Redfish: "a", IPMI: "b"}, "only one way to wake"},
		{Wake{PDU: "p"}, "pdu needs outlet"},
		{Wake{Power: true, Outlets: Outlets{1}}, "outlet needs pdu"},
		{Wake{PDU: "p", Outlets: Outlets{0}}, "numbered from 1"},
		{Wake{PDU: "p", Outlets: Outlets{2, 2}}, "outlet 2 is named twice"},
	} {
		require.ErrorContains(t, tt.wake.Check(), tt.want)
	}
	require.NoError(t, (&Wake{PDU: "p", Outlets: Outlets{1, 2}}).Check())
}
