package schema_test

import (
	"testing"

	"ebbtide/internal/manual"
	"ebbtide/internal/schema"

	"github.com/stretchr/testify/require"
)

func TestACommandIsTypedAsItArrives(t *testing.T) {
	for want, c := range map[string]schema.Command{
		"sudo systemctl poweroff":         {Argv: []string{"sudo", "systemctl", "poweroff"}},
		`echo 'a b' '' 'it'\''s' '$HOME'`: {Argv: []string{"echo", "a b", "", "it's", "$HOME"}},
		"sync && poweroff":                {Line: "sync && poweroff"},
	} {
		require.Equal(t, want, c.Shell())
	}
}

func TestHealthAndWakeByHand(t *testing.T) {
	require.Equal(t, "nc -vz 10.0.0.30 2049", schema.HealthCheck{TCP: "10.0.0.30:2049"}.ByHand().Type)
	require.Equal(t, "dig +short @10.0.0.53 nas.lan", schema.HealthCheck{DNS: &schema.DNSCheck{Server: "10.0.0.53", Name: "nas.lan"}}.ByHand().Type)
	require.Equal(t, "curl -fsS -o /dev/null 'https://10.0.0.10/ui?a=b'", schema.HealthCheck{HTTP: "https://10.0.0.10/ui?a=b"}.ByHand().Type)
	require.Equal(t, "ping -c 3 10.0.0.1", schema.HealthCheck{Ping: "10.0.0.1"}.ByHand().Type)
	require.Equal(t, "ntpdate -q 10.0.0.20", schema.HealthCheck{NTP: "10.0.0.20:123"}.ByHand().Type)
	w := &schema.Wake{MAC: "00:25:90:aa:bb:11", Broadcast: "10.0.0.255:9"}
	require.Equal(t, "wakeonlan -i 10.0.0.255 00:25:90:aa:bb:11", w.ByHand(nil)[0].Type)
	require.Contains(t, (&schema.Wake{Power: true}).ByHand(nil)[0].Say, "by itself")
}

func TestWakeByAPDUByHand(t *testing.T) {
	w := &schema.Wake{PDU: "rack-a", Outlets: schema.Outlets{3, 7}}
	hand := w.ByHand(func(string) manual.Endpoint { return manual.Endpoint{Address: "10.0.0.71"} })
	require.Equal(t, "At the PDU rack-a, 10.0.0.71: turn outlet 3 and 7 on. If the outlet is on already and the machine stays off: turn it off, wait 10 seconds, turn it on.",
		hand[0].Say)
}

func TestWakeFindsMistakes(t *testing.T) {
	for _, tt := range []struct {
		wake schema.Wake
		want string
	}{
		{schema.Wake{MAC: "00:25:90:aa:bb:11", PDU: "p", Outlets: schema.Outlets{1}}, "only one way to wake"},
		{schema.Wake{Redfish: "a", IPMI: "b"}, "only one way to wake"},
		{schema.Wake{PDU: "p"}, "pdu needs outlet"},
		{schema.Wake{Power: true, Outlets: schema.Outlets{1}}, "outlet needs pdu"},
		{schema.Wake{PDU: "p", Outlets: schema.Outlets{0}}, "numbered from 1"},
		{schema.Wake{PDU: "p", Outlets: schema.Outlets{2, 2}}, "outlet 2 is named twice"},
	} {
		require.ErrorContains(t, tt.wake.Check(), tt.want)
	}
	require.NoError(t, (&schema.Wake{PDU: "p", Outlets: schema.Outlets{1, 2}}).Check())
}
