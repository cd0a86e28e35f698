package estate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/adapter/redfish"
	"ebbtide/internal/adapter/redfish/redfishsim"
	"ebbtide/internal/estate"
	"ebbtide/internal/nut/nutsim"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// room is an estate in memory, with a UPS and BMCs that are asked over the network.
type room struct {
	nut    *nutsim.Server
	ups    *nutsim.UPS
	bmc    *redfishsim.Server
	estate *fake.Estate
}

const book = `version: 1
runbook: test
supplies:
  ups: {nut: "main@%s", cut: none}
connections:
  bmc: {type: redfish, url: "%s", username: %s, password: {env: BMC}, thumbprint: "%s"}
nodes:
  esx: {type: fake, fed_by: [ups], up: {wake: {redfish: bmc}}}
  web: {type: fake, fed_by: [ups], depends_on: [esx], up: {wake: {mac: "00:25:90:aa:bb:11"}}}
  sql: {type: fake, fed_by: [ups], depends_on: [esx]}
policy:
  shutdown: {when: {any: [{charge_below: 30%%}, {temperature_above: 40}, {brownout: 5m}]}}
  restore: {when: {online: 10m}}
`

func newRoom(t *testing.T) *room {
	t.Helper()
	server, err := nutsim.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	r := &room{nut: server, ups: server.Add("main", "test UPS"), bmc: redfishsim.New(redfishsim.Options{}), estate: fake.New(time.Now)}
	t.Cleanup(r.bmc.Close)
	r.ups.Set("ups.status", "OL", "battery.charge", "90", "ups.temperature", "21", "input.voltage", "231", "input.voltage.nominal", "230")
	for _, id := range []string{"esx", "web", "sql"} {
		r.estate.Add(id, fake.Spec{})
	}
	return r
}

type secret struct{}

func (secret) Secret(schema.SecretRef) (string, error) { return redfishsim.Password, nil }

// ask surveys the room, for so long at most, and holds that nothing was commanded.
func (r *room) ask(ctx context.Context, t *testing.T, within time.Duration,
	over func(string, adapter.Node) adapter.Node,
) (*estate.Survey, error) {
	t.Helper()
	families := []adapter.Family{r.estate.Family(), redfish.Family()}
	text := fmt.Sprintf(book, r.nut.Addr(), r.bmc.URL, redfishsim.User, r.bmc.Thumbprint())
	rb, problems := runbook.Load("runbook.yaml", []byte(text), adapter.Schema(families))
	require.False(t, problems.HasErrors(), problems.Text())
	e, err := estate.Open(rb, estate.Options{Families: families, Secrets: secret{}, Over: over})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	asked, err := e.Survey(ctx, within)
	require.Empty(t, r.estate.Calls())
	require.Empty(t, r.bmc.Resets())
	return asked, err
}

func (r *room) survey(t *testing.T) *estate.Survey {
	t.Helper()
	asked, err := r.ask(t.Context(), t, time.Minute, nil)
	require.NoError(t, err)
	return asked
}

func messages(problems runbook.Problems) []string {
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = fmt.Sprintf("%s %s: %s", p.Severity, p.Path, p.Message)
	}
	return list
}

func TestAnEstateThatIsWell(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	asked := r.survey(t)
	require.Empty(t, asked.Problems, asked.Problems.Text())
	require.Equal(t, estate.Well, asked.Supplies[0].Is)
	require.Equal(t, "esx", asked.Nodes[0].Node)
	require.Equal(t, plan.On, asked.Nodes[0].Wake.State)
	require.Equal(t, "Wake-on-LAN", asked.Nodes[1].Wake.By)
	require.Nil(t, asked.Nodes[2].Wake)
}

// TestASecondProofThatDisagrees: a BMC says the other thing, in either direction, or nothing.
func TestASecondProofThatDisagrees(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.bmc.Set("1", "Off")
	require.Equal(t, []string{"trouble nodes.esx: esx is on, but bmc reports it off: check that it belongs to this machine"},
		messages(r.survey(t).Problems))

	r.bmc.Set("1", "On")
	r.estate.Node("esx").Set(plan.Off)
	problems := messages(r.survey(t).Problems)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0], "trouble nodes.esx: two proofs disagree: bmc says that esx is on, but its own system says that it is not")

	r.estate.Node("esx").Set(plan.On)
	r.bmc.Answer(401, 0)
	asked := r.survey(t)
	require.Len(t, asked.Problems, 1)
	require.Contains(t, asked.Problems[0].Message, "nothing could start esx, because bmc does not answer: ")
	require.Equal(t, estate.InTrouble, asked.Nodes[0].Is)
	require.Equal(t, plan.On, asked.Nodes[0].State)
}

// TestASupplyThatIsNotAsItShouldBe: what is odd about it is a warning, and so is what the policy can't go by.
func TestASupplyThatIsNotAsItShouldBe(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.ups.Set("ups.status", "OB RB", "ups.test.result", "Done and error")
	r.ups.Delete("ups.temperature")
	r.ups.Delete("input.voltage")
	asked := r.survey(t)
	require.Equal(t, []string{
		"warning supplies.ups: ups does not report a temperature, which temperature_above in the policy needs",
		"warning supplies.ups: ups does not report input.voltage with input.transfer.low or input.voltage.nominal, which brownout in the policy needs",
		"warning supplies.ups: ups is on battery",
		"warning supplies.ups: ups reports that its battery needs replacing",
		"warning supplies.ups: ups reports that its last battery test failed",
	}, messages(asked.Problems))
	require.Equal(t, estate.Doubtful, asked.Supplies[0].Is)

	r.ups.SetStale(true)
	asked = r.survey(t)
	require.Equal(t, estate.InTrouble, asked.Supplies[0].Is)
	require.Nil(t, asked.Supplies[0].Reading)
	require.Contains(t, messages(asked.Problems)[0], "trouble supplies.ups: ups can't be queried: ")
	require.Contains(t, messages(asked.Problems)[0], "the driver has lost the UPS")
}

// deaf does not heed its context, and breaks when it is let go.
type deaf struct {
	adapter.Node
	until chan struct{}
}

func (d deaf) Probe(context.Context) (plan.Observation, error) {
	<-d.until
	panic("let go")
}

// TestWhatNeverAnswersIsTold: one node that hangs, with an adapter that heeds no deadline, and one that no longer exists keep
// nobody else from being asked.
func TestWhatNeverAnswersIsTold(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.estate.Node("sql").Break(fake.Vanished)
	let := make(chan struct{})
	defer close(let)
	asked, err := r.ask(t.Context(), t, 2*time.Second, func(id string, n adapter.Node) adapter.Node {
		if id == "web" {
			return deaf{n, let}
		}
		return n
	})
	require.NoError(t, err)
	problems := messages(asked.Problems)
	require.Len(t, problems, 2)
	require.Contains(t, problems[0], "trouble nodes.web: web does not answer: ")
	require.Contains(t, problems[1], "trouble nodes.sql: sql does not exist")
	require.Equal(t, []string{"web", "sql", "esx"}, []string{asked.Nodes[0].Node, asked.Nodes[1].Node, asked.Nodes[2].Node})
	require.Equal(t, plan.On, asked.Nodes[2].State)
}

func TestASurveyThatIsBrokenOff(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("somebody pressed Ctrl-C")
	cancel(gone)
	_, err := newRoom(t).ask(ctx, t, time.Minute, nil)
	require.ErrorIs(t, err, gone)
}
