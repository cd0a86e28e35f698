package nut_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// vault gives every secret the same value.
type vault string

func (v vault) Secret(schema.SecretRef) (string, error) { return string(v), nil }

const settles = 200 * time.Millisecond

func openSecondaries(t *testing.T, address, user, password string) (adapter.Node, adapter.Conn) {
	t.Helper()
	family := nut.Family()
	conn, err := family.Connect(schema.Connection{
		Name: "upsd", Type: "nut",
		Spec: &nut.ConnSpec{NUT: "ups1@" + address, Username: user},
	}, vault(password))
	require.NoError(t, err)
	node, err := family.Open(schema.Node{ID: "secondaries", Via: "upsd", Spec: &nut.SecondariesSpec{Settle: settles}}, conn, nil)
	require.NoError(t, err)
	return node, conn
}

func TestSecondariesContract(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{
		Secrets: []string{nuttest.ForcerPassword},
		Make: func(t *testing.T) *contracttest.Thing {
			upsd := nuttest.Start(t, nuttest.Config{})
			other := upsd.Upsmon("127.0.0.2", "ups1", 50*time.Millisecond)
			node, conn := openSecondaries(t, upsd.Addr, nuttest.Forcer, nuttest.ForcerPassword)
			return &contracttest.Thing{
				Node: node, Can: plan.VerbSet(plan.Stop),
				Truth: func() plan.State {
					if other.Left() {
						return plan.Off
					}
					return plan.On
				},
				Silence: upsd.Stop, Freeze: upsd.Freeze, Close: conn.Close,
				RefusalIsSilence: true, // of upsd, and no proof rests on it
			}
		},
	})
}

// They are told once, counted until the last has gone, and count as off only after a while: upsmon leaves before its
// machine is down.
func TestSecondariesGoAtTheirPlace(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{})
	node, _ := openSecondaries(t, upsd.Addr, nuttest.Forcer, nuttest.ForcerPassword)
	require.Equal(t, plan.Unknown, contracttest.Probe(t, node).State, "nobody is there, which may be because upsd has only just begun")
	quick := upsd.Upsmon("127.0.0.2", "ups1", 0)
	stubborn := upsd.Upsmon("127.0.0.3", "ups1", -1)
	seen := contracttest.Probe(t, node)
	require.Equal(t, plan.On, seen.State)
	require.Equal(t, "logged in: 127.0.0.2, 127.0.0.3", seen.Detail)

	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	upsd.Await("ups1", "ups.status", "FSD OL")
	peertest.Until(t, "the first to go", quick.Left)
	peertest.Until(t, "the second to be waited for", func() bool {
		seen := contracttest.Probe(t, node)
		require.Equal(t, plan.Stopping, seen.State, "one is still there")
		return seen.Detail == "told to shut down, but still logged in: 127.0.0.3"
	})
	stubborn.Leave()
	seen = untilState(t, node, plan.Off)
	require.Contains(t, seen.Detail, "restart upsd", "what comes back meanwhile would go down again")

	// A restart of ours knows nothing of it, and sets nothing twice.
	again, _ := openSecondaries(t, upsd.Addr, nuttest.Reader, nuttest.ReaderPassword)
	require.NoError(t, again.Do(t.Context(), adapter.Command{Verb: plan.Stop}), "what is set is not set again: this user may not")
	untilState(t, again, plan.Off)

	upsd.Stop()
	upsd.Launch()
	upsd.Await("ups1", "ups.status", "OL")
	upsd.Upsmon("127.0.0.2", "ups1", 0)
	require.Equal(t, plan.On, contracttest.Probe(t, node).State, "a restart of upsd clears the flag")
}

// The flag that only a restart clears is not set for nobody.
func TestNobodyIsToldToGo(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{})
	node, _ := openSecondaries(t, upsd.Addr, nuttest.Forcer, nuttest.ForcerPassword)
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	answer, err := upsd.Ask("GET VAR ups1 ups.status")
	require.NoError(t, err)
	require.Equal(t, `VAR ups1 ups.status "OL"`, answer)
	untilState(t, node, plan.Off)
}

// An upsmon on our own machine would power it off in the middle of the plan.
func TestOwnUpsmonKeepsTheFlagFromBeingSet(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{})
	upsd.Upsmon("127.0.0.1", "ups1", 0)
	upsd.Upsmon("127.0.0.2", "ups1", 0)
	node, _ := openSecondaries(t, upsd.Addr, nuttest.Forcer, nuttest.ForcerPassword)
	require.Equal(t, "logged in: 127.0.0.2", contracttest.Probe(t, node).Detail)
	err := node.Do(t.Context(), adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "nut-monitor")
	require.Equal(t, plan.On, contracttest.Probe(t, node).State)
}

// An upsmon on the machine of upsd, which may be the primary, would shut that down by the flag, and then cut the UPS under all the rest.
func TestTheServersUpsmonKeepsTheFlagFromBeingSet(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{Host: "127.0.0.2"})
	other := upsd.Upsmon("127.0.0.3", "ups1", 0)
	node, _ := openSecondaries(t, upsd.Addr, nuttest.Forcer, nuttest.ForcerPassword)
	require.Empty(t, contracttest.Probe(t, node).Caution)
	upsd.Upsmon("127.0.0.2", "ups1", 0)
	seen := contracttest.Probe(t, node)
	require.Equal(t, "logged in: 127.0.0.3", seen.Detail)
	require.Contains(t, seen.Caution, "they can't be told to go down: an upsmon on the machine of their NUT server is logged in")
	err := node.Do(t.Context(), adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "cuts this UPS")
	require.False(t, other.Left())

	offer, err := nut.Examine(t.Context(), nut.Options{Address: upsd.Addr}, "ups1", nut.Wants{})
	require.NoError(t, err)
	require.NotContains(t, strings.Join(offer.Lacks, " "), "upsmon")
	require.Len(t, offer.Quirks, 1)
	require.Contains(t, offer.Quirks[0].Says, "has an upsmon on the machine of its NUT server that is logged in")
}

// TestTheUpsmonOfThePageOnlyWatches runs NUT's own upsmon as docs/systems/nut.md sets it up to watch: it starts, sees a forced shutdown,
// and shuts nothing down.
func TestTheUpsmonOfThePageOnlyWatches(t *testing.T) {
	t.Parallel()
	upsmon := peertest.Need(t, "nut-client", "/lib/nut/upsmon")
	page, err := os.ReadFile("../../docs/systems/nut.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "```\nMONITOR ")
	require.True(t, found)
	block, _, _ = strings.Cut("MONITOR "+block, "```")
	upsd := nuttest.Start(t, nuttest.Config{})
	folder := t.TempDir()
	conf := strings.NewReplacer("ups-a@127.0.0.1", "ups1@"+upsd.Addr, "monitor PASSWORD", nuttest.Viewer+" "+nuttest.ViewerPassword).Replace(block)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "upsmon.conf"),
		[]byte(conf+"SHUTDOWNCMD \"/bin/false\"\nRUN_AS_USER root\nPOLLFREQ 1\n"), 0o600))
	upsd.Driver("ups1").Set("ups.status", "OB LB FSD")
	atOnce := func(context.Context) bool { return true }
	running := peertest.Start(t, folder, atOnce, []string{"NUT_CONFPATH=" + folder}, upsmon, "-F", "-p", "-D")
	peertest.Until(t, "upsmon to see the failure", func() bool { return strings.Contains(running.Log(), "on battery") }, running.Log)
	answer, err := upsd.Ask("GET NUMLOGINS ups1")
	require.NoError(t, err)
	require.Equal(t, "NUMLOGINS ups1 1", answer, "it does, and can't be told from one that shuts its machine down")
	require.Contains(t, running.Log(), "monitoring only")
	require.NotContains(t, running.Log(), "Executing")
}

func TestSecondariesNeedTheRight(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{})
	upsd.Upsmon("127.0.0.2", "ups1", 0)
	for user, password := range map[string]string{
		nuttest.Reader: nuttest.ReaderPassword, nuttest.Viewer: nuttest.ViewerPassword,
		nuttest.Forcer: "wrong",
	} {
		node, _ := openSecondaries(t, upsd.Addr, user, password)
		err := node.Do(t.Context(), adapter.Command{Verb: plan.Stop})
		require.ErrorIs(t, err, adapter.ErrRefused, user)
		require.ErrorContains(t, err, "actions = FSD")
	}
}

// A driver that is away takes the number of logins with it, and not their names: the flag can be set all the same.
func TestSecondariesOfADeadDriver(t *testing.T) {
	t.Parallel()
	upsd := nuttest.Start(t, nuttest.Config{})
	upsd.Upsmon("127.0.0.2", "ups1", -1)
	node, _ := openSecondaries(t, upsd.Addr, nuttest.Forcer, nuttest.ForcerPassword)
	upsd.Driver("ups1").Kill()
	upsd.AwaitError("ups1", "DRIVER-NOT-CONNECTED")
	require.Equal(t, plan.On, contracttest.Probe(t, node).State)
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	upsd.Driver("ups1").Revive()
	upsd.Await("ups1", "ups.status", "FSD OL")
}
