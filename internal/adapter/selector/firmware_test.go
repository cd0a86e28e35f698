package selector

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSameFirmware(t *testing.T) {
	t.Parallel()
	const vcenter = "421f245c-7fa8-60fa-6af6-a46351ced0eb"
	for _, guest := range []string{
		vcenter, "421F245C-7FA8-60FA-6AF6-A46351CED0EB\n", "5C241F42-A87F-FA60-6AF6-A46351CED0EB",
		"{5c241f42-a87f-fa60-6af6-a46351ced0eb}",
	} {
		require.True(t, SameFirmware(vcenter, guest), guest)
		require.True(t, SameFirmware(guest, vcenter), guest)
	}
	for _, other := range []string{
		"", "421f245c", "421f245c-7fa8-60fa-6af6-a46351ced0ec",
		"421f245c-a87f-fa60-6af6-a46351ced0eb", "not a UUID",
	} {
		require.False(t, SameFirmware(vcenter, other), other)
	}
	for _, unset := range []string{"", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"} {
		require.False(t, SameFirmware(unset, unset), "a UUID that is not set is nobody's")
	}
}
