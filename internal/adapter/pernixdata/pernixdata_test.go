package pernixdata

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/pernixdata/pernixsim"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/adapter/powershell/windowssim"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// secrets are literal here: a reference's Env is the secret itself.
type secrets struct{}

func (secrets) Secret(r schema.SecretRef) (string, error) { return r.Env, nil }

// estate is VMs with every kind of setting, and two that are nobody's business.
func estate() []*pernixsim.VM {
	return []*pernixsim.VM{
		{UUID: "5029A001-0000-0000-0000-000000000001", Name: "sql01", WriteBack: true, Peers: "1", External: "0", Dirty: true},
		{UUID: "5029a001-0000-0000-0000-000000000002", Name: `it's $(web)`, WriteBack: true, Peers: "2", External: "1", Dirty: true},
		{UUID: "5029a001-0000-0000-0000-000000000003", Name: "old", WriteBack: true, Peers: "0"},
		{UUID: "5029a001-0000-0000-0000-000000000004", Name: "reads", Peers: "1", External: "0"},
		{UUID: "5029a001-0000-0000-0000-000000000005", Name: "lab-1", WriteBack: true, Peers: "1", External: "0", Dirty: true},
		{UUID: "5029a001-0000-0000-0000-000000000006", Name: "lab-2", Says: "NONE"},
	}
}

var all = CacheSpec{Select: Selection{All: true}, Exclude: []string{"lab-*"}}

func server(t *testing.T, vms ...*pernixsim.VM) *pernixsim.FVP {
	t.Helper()
	f := pernixsim.New(vms...)
	t.Cleanup(f.Close)
	return f
}

// opened is a node with its connections, made as the daemon makes them.
func opened(t *testing.T, f *pernixsim.FVP, spec CacheSpec, password string) (adapter.Node, *registry.Registry) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{powershell.Family(), Family()},
		[]schema.Connection{
			{Name: "fvp", Type: "pernixdata", Spec: &ConnSpec{
				Through: "mgmt", Username: pernixsim.User,
				Password: schema.SecretRef{Env: password},
			}},
			{Name: "mgmt", Type: "winrm", Spec: &powershell.ConnSpec{
				URL: f.URL(), Username: windowssim.User, Password: schema.SecretRef{Env: windowssim.Password}, Auth: "basic",
				Thumbprint: f.Thumbprint(),
			}},
		},
		[]schema.Node{{ID: "fvp", Type: "pernixdata.cache", Via: "fvp", Spec: &spec}}, secrets{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("fvp")
	require.True(t, ok)
	return n, set
}

// byShell is a connection that runs commands as one of type ssh does.
type byShell struct{ f *pernixsim.FVP }

func (byShell) Close() error { return nil }

func (c byShell) Run(ctx context.Context, command schema.Command, stdin string) (process.Result, error) {
	return process.Result{Stdout: c.f.PowerShell(command.Shell(), stdin)}, ctx.Err()
}

func TestContract(t *testing.T) {
	for _, way := range []string{"over WinRM", "over a shell"} {
		t.Run(way, func(t *testing.T) {
			contracttest.Run(t, contracttest.Subject{
				Secrets: []string{windowssim.Password, pernixsim.Password},
				Make: func(t *testing.T) *contracttest.Thing {
					f := server(t, estate()...)
					thing := &contracttest.Thing{Can: verbs, Truth: func() plan.State { return plan.On }}
					if way == "over WinRM" {
						n, set := opened(t, f, all, pernixsim.Password)
						thing.Node, thing.Close, thing.Silence, thing.Freeze = n, set.Close, f.Close, f.Freeze
						return thing
					}
					c := &conn{name: "fvp", spec: ConnSpec{
						Through: "mgmt", Username: pernixsim.User,
						Password: schema.SecretRef{Env: pernixsim.Password},
					}, secrets: secrets{}}
					n, err := open(schema.Node{ID: "fvp", Spec: &all}, c,
						func(string) (adapter.Conn, error) { return byShell{f}, nil })
					require.NoError(t, err)
					thing.Node, thing.Close = n, c.Close
					return thing
				},
			})
		})
	}
}

// TestWhatWasSetComesBack: each VM has its own peers again, what wrote through or is excluded is never touched, and no
// secret and no name ever stood on a command line.
func TestWhatWasSetComesBack(t *testing.T) {
	f := server(t, estate()...)
	n, _ := opened(t, f, all, pernixsim.Password)
	before, seen := f.State(), contracttest.Probe(t, n)
	require.Equal(t, "3 of 4 VMs write back", seen.Detail)
	require.NoError(t, contracttest.Do(t, n, plan.Protect))
	contracttest.Until(t, n, "clean", func(o plan.Observation) bool { return o.Protected == plan.Yes && o.Clean == plan.Yes })
	require.NotEqual(t, before, f.State())
	for range 2 {
		ctx := contracttest.Within(t, 10*time.Second)
		require.NoError(t, n.Do(ctx, adapter.Command{Verb: plan.Unprotect, Settings: seen.Settings}))
		require.Equal(t, before, f.State())
	}
	require.Equal(t, seen.Settings, contracttest.Probe(t, n).Settings)
	require.Equal(t, 2, f.Of("sql01").Set, "what is back is not set again")
	require.Zero(t, f.Of("reads").Set)
	require.Zero(t, f.Of("lab-1").Set)
	require.NotEmpty(t, f.Lines())
	for _, line := range f.Lines() {
		require.NotContains(t, line, pernixsim.Password)
		require.NotContains(t, line, "sql01")
	}
}

// TestOnlyWhatIsSeenIsProven: what FVP says otherwise than expected, or not at all, is never taken for safe.
func TestOnlyWhatIsSeenIsProven(t *testing.T) {
	good := vm{Name: "a", Policy: "3", Effective: "WRITE_THROUGH\r\n", Left: "0"}
	for name, c := range map[string]struct {
		change           func(*vm)
		protected, clean plan.Fact
		detail           string
	}{
		"good":           {func(*vm) {}, plan.Yes, plan.Yes, ""},
		"as an object":   {func(m *vm) { m.Effective = "\r\nPolicy\r\n------\r\nWRITE_THROUGH\r\n" }, plan.Yes, plan.Yes, ""},
		"as a fraction":  {func(m *vm) { m.Left = "0.0" }, plan.Yes, plan.Yes, ""},
		"dirty":          {func(m *vm) { m.Left = "0.5" }, plan.Yes, plan.No, `a has "0.5" s`},
		"no sample":      {func(m *vm) { m.Left = "" }, plan.Yes, plan.No, `a has ""`},
		"below zero":     {func(m *vm) { m.Left = "-1" }, plan.Yes, plan.No, `a has "-1"`},
		"both":           {func(m *vm) { m.Effective = "WRITE_BACK -> WRITE_THROUGH" }, plan.NotKnown, plan.No, "exclude it"},
		"between":        {func(m *vm) { m.Effective = "WRITE_THROUGH_PENDING" }, plan.NotKnown, plan.No, "exclude it"},
		"another policy": {func(m *vm) { m.Effective = "READ" }, plan.NotKnown, plan.No, `"READ"`},
		"nothing":        {func(m *vm) { m.Effective = "" }, plan.NotKnown, plan.No, "exclude it"},
		"an error":       {func(m *vm) { m.Error = "no such object" }, plan.NotKnown, plan.No, "no such object"},
	} {
		m := good
		c.change(&m)
		seen := observe([]vm{good, m})
		require.Equal(t, c.protected, seen.Protected, name)
		require.Equal(t, c.clean, seen.Clean, name)
		require.Contains(t, seen.Detail, c.detail, name)
		require.Empty(t, seen.Settings, name)
	}
	require.Equal(t, plan.Unknown, observe(nil).State)
	writing := good
	writing.Policy, writing.Peers = writeBack, "1"
	seen := observe([]vm{good, writing})
	require.Equal(t, []plan.Fact{plan.No, plan.No}, []plan.Fact{seen.Protected, seen.Clean})
}

// TestOneVMHoldsUpNoOther: it is named, the others are safe.
func TestOneVMHoldsUpNoOther(t *testing.T) {
	vms := estate()
	vms[0].Refuses = true
	f := server(t, vms...)
	n, _ := opened(t, f, all, pernixsim.Password)
	err := contracttest.Do(t, n, plan.Protect)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "1 VMs: sql01: the operation timed out")
	require.False(t, f.Of("old").WriteBack)
	require.Equal(t, "1 of 4 VMs write back", contracttest.Probe(t, n).Detail)
}

// TestMoreThanARecordHolds: the settings stay within what a record takes, what they leave out is told beforehand, and stays
// in write-through.
func TestMoreThanARecordHolds(t *testing.T) {
	var vms []*pernixsim.VM
	for i := range 600 {
		vms = append(vms, &pernixsim.VM{
			UUID: fmt.Sprintf("5029-%d", i), Name: fmt.Sprintf("vm%03d", i), WriteBack: true,
			Peers: fmt.Sprint(i % 3), External: fmt.Sprint(i % 2),
		})
	}
	vms[7].Peers = "many" // what can't be read can't be put back
	f := server(t, vms...)
	n, _ := opened(t, f, all, pernixsim.Password)
	seen := printable.Text(contracttest.Probe(t, n).Settings, 4000)
	require.Equal(t, contracttest.Probe(t, n).Settings, seen, "decorate.Clean would drop it whole")
	kept := len(parseSettings(seen))
	require.Greater(t, kept, 430)
	require.Equal(t, fmt.Sprintf("600 of 600 VMs write back; %d of them are more than the record holds and would stay in write-through: "+
		"divide them among several nodes", 600-kept),
		contracttest.Probe(t, n).Detail)
	require.NoError(t, contracttest.Do(t, n, plan.Protect))
	require.NoError(t, n.Do(contracttest.Within(t, 10*time.Second), adapter.Command{Verb: plan.Unprotect, Settings: seen}))
	require.Equal(t, fmt.Sprintf("%d of 600 VMs write back", kept), contracttest.Probe(t, n).Detail)
	require.True(t, f.Of("vm000").WriteBack)
	require.False(t, f.Of("vm007").WriteBack)
	require.False(t, f.Of("vm599").WriteBack)
}

// TestForgedSettingsAreNotObeyed: what FVP told comes back from the record. It becomes numbers, or nothing.
func TestForgedSettingsAreNotObeyed(t *testing.T) {
	id := mark("x")
	for _, forged := range []string{
		"", "1/0", "=" + id, "-1/0=" + id, "1/0;Remove-PrnxVM=" + id, "100/0=" + id,
		"$(x)/0=" + id, "1=" + id,
	} {
		require.Empty(t, parseSettings(forged)[id], forged)
	}
	require.Equal(t, map[string]peers{id: {"1", ""}}, parseSettings("1/-="+id))
	n, _ := opened(t, server(t, estate()...), all, pernixsim.Password)
	err := contracttest.Do(t, n, plan.Unprotect)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "they stay in write-through")
}

func TestErrorsSayWhatToDo(t *testing.T) {
	f := server(t, estate()...)
	n, _ := opened(t, f, all, "mistyped")
	_, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	require.ErrorContains(t, err, "username and password")

	require.ErrorContains(t, errors.Join((&CacheSpec{}).mistakes()...), "select is empty")
	require.ErrorContains(t, errors.Join((&CacheSpec{Select: Selection{All: true}, Exclude: []string{"[ab]*"}}).mistakes()...),
		"only * (any characters)")
	_, err = open(schema.Node{}, &conn{spec: ConnSpec{Through: "nas"}}, func(string) (adapter.Conn, error) { return &conn{}, nil })
	require.ErrorContains(t, err, "not a connection of type winrm or ssh")
	_, err = open(schema.Node{}, nil, nil)
	require.ErrorContains(t, err, "of type pernixdata")
}

// TestScriptsAreFitForAnyShell: they are constant, and not too long for cmd.exe whatever they are given.
func TestScriptsAreFitForAnyShell(t *testing.T) {
	for _, s := range []powershell.Script{look, through, back} {
		argv, err := s.Argv(powershell.Call{Input: input{Name: strings.Repeat("ü", 1000)}})
		require.NoError(t, err)
		line := strings.Join(argv, " ")
		require.Equal(t, line, schema.Command{Argv: argv}.Shell(), "no word needs quotes")
		require.Less(t, len(line), 8000)
	}
}
