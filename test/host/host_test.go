package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/test/host"
)

func TestAMachineShutsDownAndComesBack(t *testing.T) {
	off := make(chan string, 2)
	h := host.Boot(t, "box", host.Options{Ended: func(name string) { off <- name }})
	out, err := h.Exec("systemctl", "show", "--property=Version")
	require.NoError(t, err, out)
	require.Contains(t, out, "Version=")
	out, err = h.Exec("systemctl", "poweroff")
	require.NoError(t, err, out)
	require.Equal(t, "box", <-off)
	require.False(t, h.On())
	h.PowerOn()
	h.Await()
	h.PowerOff()
	require.Equal(t, "box", <-off)
	_, err = h.Exec("true")
	require.Error(t, err)
}
