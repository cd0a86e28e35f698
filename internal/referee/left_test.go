package referee_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAvoidable has the smallest histories of storage that is left on, and the nearest in which nobody could have done better.
func TestAvoidable(t *testing.T) {
	t.Parallel()
	const shutdown = "ups: out; +5s; outage; cluster: protected; nas: protected; record triggered stage=shutdown supplies=ups; "
	const off = shutdown + "app: off; db: off; lab: off; vcenter: off; esx: off; "
	for _, c := range []struct {
		what, story string
		lost        bool
	}{
		{"storage that nobody told to stop", off + "+301s; ups: off", true},
		{"storage that was told", off + "+200s; stop nas; +101s; ups: off", false},
		{"storage under a host with a VM on it", shutdown + "lab: off; vcenter: off; +301s; ups: off", false},
		{"storage under a host that nobody told to stop", shutdown + "app: off; db: off; lab: off; vcenter: off; +301s; ups: off", true},
		{"storage under a host that was told, and hangs", shutdown + "app: off; db: off; lab: off; vcenter: off; stop esx; +301s; ups: off", false},
		{"storage under a host that has just gone off", shutdown + "app: off; db: off; lab: off; vcenter: off; +100s; esx: off; +201s; ups: off", false},
		{"a battery that lasted for less than that", off + "+299s; ups: off", false},
		{"storage that does not answer", off + "nas: silent; +301s; ups: off", false},
		{"an UPS that is not heard", off + "+299s; ups: silent; +2s; ups: off", false},
		{"an operator who holds it", off + "record ordered order=hold; +301s; ups: off", false},
		{"a controller that is not long back", off + "+299s; resumed; +2s; ups: off", false},
		{"an outage that is not shut down for", "ups: out; +5s; outage; nas: protected; app: off; db: off; lab: off; vcenter: off; esx: off; +301s; ups: off", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := tellStory(t, room(t, false), everything, c.story)
			require.Equal(t, c.lost, len(s.Avoidable) > 0, "%v", s.Avoidable)
		})
	}
}
