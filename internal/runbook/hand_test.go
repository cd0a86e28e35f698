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
	w := &Wake{MAC: "00:25:90:aa:bb:11", Broadcast: "10.0.0.255:9"}
	require.Equal(t, "wakeonlan -i 10.0.0.255 00:25:90:aa:bb:11", w.byHand(nil)[0].Type)
	require.Contains(t, (&Wake{Power: true}).byHand(nil)[0].Say, "by itself")
}
