package schema_test

import (
	"testing"

	"ebbtide/internal/schema"

	"github.com/stretchr/testify/require"
)

func TestHealthCheckFindsMistakes(t *testing.T) {
	for _, tt := range []struct {
		check schema.HealthCheck
		want  string
	}{
		{schema.HealthCheck{}, "needs one of tcp, http, dns, ntp, ping, command"},
		{schema.HealthCheck{TCP: "a:1", Command: []string{"x"}}, "one of tcp, command"},
		{schema.HealthCheck{TCP: "a"}, `"a" is not host:port`},
		{schema.HealthCheck{TCP: "a:1", Status: 200}, "need an http check"},
		{schema.HealthCheck{HTTP: "http://a", Status: 99}, "99 is not an HTTP status"},
		{schema.HealthCheck{HTTP: "a/b"}, "whole URL"},
		{schema.HealthCheck{HTTP: "http://me:hunter2@a"}, "must not hold a user"},
		{schema.HealthCheck{Ping: "a:1"}, "a ping has no port"},
		{schema.HealthCheck{Ping: "a", NTP: "b"}, "one of ntp, ping"},
		{schema.HealthCheck{TCP: "a:1", Within: -1}, "more than 0"},
	} {
		err := tt.check.Check()
		require.ErrorContains(t, err, tt.want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
