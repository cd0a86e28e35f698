package runbook

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHealthCheckFindsMistakes(t *testing.T) {
	for _, tt := range []struct {
		check HealthCheck
		want  string
	}{
		{HealthCheck{}, "needs one of tcp, http, dns, ntp, ping, command"},
		{HealthCheck{TCP: "a:1", Command: []string{"x"}}, "one of tcp, command"},
		{HealthCheck{TCP: "a"}, `"a" is not host:port`},
		{HealthCheck{TCP: "a:1", Status: 200}, "need an http check"},
		{HealthCheck{HTTP: "http://a", Status: 99}, "99 is not an HTTP status"},
		{HealthCheck{HTTP: "a/b"}, "whole URL"},
		{HealthCheck{HTTP: "http://me:hunter2@a"}, "must not hold a user"},
		{HealthCheck{Ping: "a:1"}, "a ping has no port"},
		{HealthCheck{Ping: "a", NTP: "b"}, "one of ntp, ping"},
		{HealthCheck{TCP: "a:1", Within: -1}, "more than 0"},
	} {
		err := tt.check.Check()
		require.ErrorContains(t, err, tt.want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
