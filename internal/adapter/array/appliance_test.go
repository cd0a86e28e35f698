package array

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// planted is the password and the key of all doubles: it must not be seen anywhere.
const planted = "correct horse battery staple"

// vault answers every reference with the secret that it holds, or else with the planted one.
type vault map[string]string

func (v vault) Secret(ref schema.SecretRef) (string, error) {
	if ref.IsZero() {
		return "", errors.New("no such secret")
	}
	if s, ok := v[ref.Credential]; ok {
		return s, nil
	}
	return planted, nil
}

var secretRef = schema.SecretRef{Credential: "planted"}

// appliance is a double of what all of them have in common: a TLS server on loopback that goes away some time after it was
// told to shut down. What it answers is made from the vendors' documented calls; none of them was here to be asked.
type appliance struct {
	*httptest.Server
	ctx    context.Context // ends when it goes down
	down   context.CancelFunc
	thawed chan struct{} // closed unless it is frozen

	mu     sync.Mutex
	state  plan.State
	asked  []string // what changed something, in its order
	timer  *time.Timer
	frozen bool
}

// stopTime is how long a double takes to shut down.
const stopTime = 50 * time.Millisecond

// newAppliance starts a double that answers by handle.
func newAppliance(t *testing.T, handle http.HandlerFunc) *appliance {
	t.Helper()
	a := &appliance{state: plan.On, thawed: make(chan struct{})}
	a.ctx, a.down = context.WithCancel(context.Background())
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.freezes(r.Context()) {
			panic(http.ErrAbortHandler)
		}
		handle(w, r)
	}))
	a.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that break off are what is tested
	a.StartTLS()
	t.Cleanup(func() {
		a.mu.Lock()
		if a.timer != nil {
			a.timer.Stop()
		}
		a.mu.Unlock()
		a.off()
		a.Close()
	})
	return a
}

// freezes waits while it is frozen, and reports whether it is still up then.
func (a *appliance) freezes(ctx context.Context) bool {
	a.mu.Lock()
	frozen := a.frozen
	a.mu.Unlock()
	if frozen {
		select {
		case <-ctx.Done():
		case <-a.ctx.Done():
		}
		return false
	}
	return a.ctx.Err() == nil
}

func (a *appliance) freeze() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.frozen = true
}

// shutdown begins the way down.
func (a *appliance) shutdown(by string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, by)
	if a.state != plan.On {
		return
	}
	a.state = plan.Stopping
	a.timer = time.AfterFunc(stopTime, func() {
		a.mu.Lock()
		a.state = plan.Off
		a.mu.Unlock()
		a.off()
	})
}

// off takes it off the network at once.
func (a *appliance) off() {
	a.down()
	_ = a.Listener.Close()
	a.CloseClientConnections()
}

func (a *appliance) truth() plan.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

func (a *appliance) told() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

// thumbprint is that of its certificate.
func (a *appliance) thumbprint() string {
	sum := sha256.Sum256(a.Certificate().Raw)
	return hex.EncodeToString(sum[:])
}

// opened opens a runbook of one connection and one node.
func opened(t *testing.T, connType string, conn any, nodeType string, spec declared, secrets adapter.Secrets) (adapter.Node, func() error) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{Family(), ssh.Family()},
		[]schema.Connection{{Name: "conn", Type: connType, Spec: conn}},
		[]schema.Node{{ID: "node", Type: nodeType, Via: "conn", Spec: spec}}, secrets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("node")
	require.True(t, ok)
	return n, set.Close
}

// contract runs the contract suite on an appliance that open opens anew each time.
func contract(t *testing.T, open func(t *testing.T) (*appliance, adapter.Node, func() error)) {
	t.Helper()
	contracttest.Run(t, contracttest.Subject{Secrets: []string{planted}, Make: func(t *testing.T) *contracttest.Thing {
		a, n, end := open(t)
		return &contracttest.Thing{
			Node: n, Can: plan.VerbSet(plan.Stop), Truth: a.truth, Mute: true, Close: end, Silence: a.off, Freeze: a.freeze,
			RefusalIsSilence: true,
		}
	}})
}

// refusalIsSilence is for doubles on loopback, where nothing is silent.
var refusalIsSilence = Silence{OffWhenRefused: true}

// reply answers with JSON.
func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

type object map[string]any
