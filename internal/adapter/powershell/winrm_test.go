package powershell

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChecks(t *testing.T) {
	for want, spec := range map[string]*ConnSpec{
		"plain HTTP would show": {URL: "http://hv1:5985"},
		"neither ntlm nor":      {URL: "https://hv1", Auth: "kerberos"},
	} {
		require.ErrorContains(t, errors.Join(checkConn(spec)...), want)
	}
}
