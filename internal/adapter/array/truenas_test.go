package array

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/plan"
)

// trueNASDouble answers as documented at api.truenas.com (JSON-RPC, 25.04 and later) and as version 2 of the REST API does.
type trueNASDouble struct {
	*appliance
	mu     sync.Mutex
	pools  []object
	old    bool // a release before 24.10, which takes no reason
	logins int
	expire bool // ends the session at the next call
	asks   string
}

func (d *trueNASDouble) stateWord() string {
	if d.truth() == plan.On {
		return "READY"
	}
	return "SHUTTING_DOWN"
}

func startTrueNAS(t *testing.T) *trueNASDouble {
	d := &trueNASDouble{pools: []object{{"name": "tank", "status": "ONLINE"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/current", d.socket)
	mux.HandleFunc("/api/v2.0/", d.rest)
	d.appliance = newAppliance(t, mux.ServeHTTP)
	return d
}

func (d *trueNASDouble) rest(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+planted {
		reply(w, http.StatusUnauthorized, object{"message": "Unauthorized"})
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r.Method + " " + r.URL.Path {
	case "GET /api/v2.0/system/state":
		reply(w, http.StatusOK, d.stateWord())
	case "GET /api/v2.0/pool":
		reply(w, http.StatusOK, d.pools)
	case "POST /api/v2.0/system/shutdown":
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		if _, has := body["reason"]; has == d.old {
			reply(w, http.StatusUnprocessableEntity, object{"message": "extra fields not permitted"})
			return
		}
		d.shutdown("rest")
		reply(w, http.StatusOK, 17)
	default:
		http.NotFound(w, r)
	}
}

func (d *trueNASDouble) socket(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	in := false
	for {
		_, data, err := c.Read(d.ctx)
		if err != nil || !d.freezes(d.ctx) {
			return
		}
		var call struct {
			ID     int               `json:"id"`
			Method string            `json:"method"`
			Params []json.RawMessage `json:"params"`
		}
		if json.Unmarshal(data, &call) != nil {
			return
		}
		answer := object{"jsonrpc": "2.0", "id": call.ID}
		if result, errname := d.answer(call.Method, call.Params, &in); errname == "" {
			answer["result"] = result
		} else {
			answer["error"] = object{
				"code": -32001, "message": "Method call error",
				"data": object{"errname": errname, "reason": "because"},
			}
		}
		event, _ := json.Marshal(object{"jsonrpc": "2.0", "method": "collection_update", "params": object{}})
		text, _ := json.Marshal(answer)
		if c.Write(d.ctx, websocket.MessageText, event) != nil || c.Write(d.ctx, websocket.MessageText, text) != nil {
			return
		}
	}
}

func (d *trueNASDouble) answer(method string, params []json.RawMessage, in *bool) (any, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if method == "auth.login_ex" {
		var login struct{ Mechanism, Username, APIKey string }
		var raw map[string]string
		_ = json.Unmarshal(params[0], &raw)
		login.Mechanism, login.Username, login.APIKey = raw["mechanism"], raw["username"], raw["api_key"]
		d.logins++
		if login.Mechanism != "API_KEY_PLAIN" || login.Username != "ebbtide" || login.APIKey != planted {
			return object{"response_type": "AUTH_ERR"}, ""
		}
		*in = true
		return object{"response_type": "SUCCESS"}, ""
	}
	if d.expire {
		*in, d.expire = false, false
	}
	switch {
	case !*in:
		return nil, "ENOTAUTHENTICATED"
	case d.asks != "" && method == "system.shutdown":
		return nil, d.asks
	case method == "system.state":
		return d.stateWord(), ""
	case method == "pool.query":
		return d.pools, ""
	case method == "system.shutdown" && len(params) == 2:
		d.shutdown("socket")
		return 17, ""
	}
	return nil, "EINVAL"
}

func (d *trueNASDouble) conn(api string) *TrueNASConn {
	return &TrueNASConn{Server: rest.Server{URL: d.URL, Thumbprint: d.thumbprint()}, Username: "ebbtide", APIKey: secretRef, API: api}
}

func TestContractOfTrueNAS(t *testing.T) {
	for name, api := range map[string]string{"websocket": "", "rest": "rest"} {
		t.Run(name, func(t *testing.T) {
			contract(t, func(t *testing.T) (*appliance, adapter.Node, func() error) {
				d := startTrueNAS(t)
				n, end := opened(t, "truenas", d.conn(api), "truenas", &TrueNASSpec{Silence: refusalIsSilence}, vault{})
				return d.appliance, n, end
			})
		})
	}
}

func TestTrueNASTellsOfItsPools(t *testing.T) {
	d := startTrueNAS(t)
	n, _ := opened(t, "truenas", d.conn(""), "truenas", &TrueNASSpec{Pools: []string{"tank", "vault"}}, vault{})
	for _, tt := range []struct {
		pools   []object
		healthy plan.Fact
		detail  string
	}{
		{[]object{{"name": "tank", "status": "ONLINE"}, {"name": "vault", "status": "ONLINE"}}, plan.NotKnown, "it says READY"},
		{
			[]object{{"name": "tank", "status": "ONLINE"}, {"name": "vault", "status": "DEGRADED"}},
			plan.NotKnown,
			"it says READY; pool vault is DEGRADED",
		},
		{
			[]object{{"name": "tank", "status": "ONLINE"}, {"name": "vault", "status": "OFFLINE"}},
			plan.No,
			"it says READY; pool vault is OFFLINE; not usable: vault",
		},
		{[]object{{"name": "vault", "status": "ONLINE"}}, plan.No, "it says READY; not usable: tank"},
	} {
		d.mu.Lock()
		d.pools = tt.pools
		d.mu.Unlock()
		seen, err := n.Probe(contracttest.Within(t, 10*time.Second))
		require.NoError(t, err)
		require.Equal(t, plan.Observation{State: plan.On, Healthy: tt.healthy, Detail: tt.detail}, seen)
	}
	require.Equal(t, 1, d.logins, "one login serves all calls")
	d.mu.Lock()
	d.expire = true
	d.mu.Unlock()
	_, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err, "a session that has ended is replaced")
	require.Equal(t, 2, d.logins)
}

func TestTrueNASShutsDownByItsReleasesWay(t *testing.T) {
	for _, old := range []bool{false, true} {
		d := startTrueNAS(t)
		d.old = old
		n, _ := opened(t, "truenas", d.conn("rest"), "truenas", &TrueNASSpec{}, vault{})
		require.NoError(t, contracttest.Do(t, n, plan.Stop))
		require.Equal(t, []string{"rest"}, d.told())
	}
}

func TestTrueNASSaysWhatToGrant(t *testing.T) {
	d := startTrueNAS(t)
	d.asks = "EACCES"
	n, _ := opened(t, "truenas", d.conn(""), "truenas", &TrueNASSpec{}, vault{})
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "FULL_ADMIN")
	require.Empty(t, d.told())

	n, _ = opened(t, "truenas", d.conn(""), "truenas", &TrueNASSpec{}, vault{"planted": "a wrong key"})
	for _, means := range []error{adapter.ErrRefused, adapter.ErrUnreachable, adapter.ErrUnreachable} { // then it is not asked
		_, err = n.Probe(contracttest.Within(t, 10*time.Second))
		require.ErrorIs(t, err, means)
		require.ErrorContains(t, err, "may not log in by its API key")
		require.ErrorContains(t, err, "no earlier than")
		require.NotContains(t, err.Error(), "a wrong key")
	}
	require.Equal(t, 2, d.logins, "a wrong key is not tried again and again")

	old := newAppliance(t, http.NotFound)
	conn := d.conn("")
	conn.URL, conn.Thumbprint = old.URL, old.thumbprint()
	n, _ = opened(t, "truenas", conn, "truenas", &TrueNASSpec{}, vault{})
	_, err = n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "needs api: rest")
}

func TestTrueNASThatGoesDownUnderTheCommandHasTakenIt(t *testing.T) {
	var d *appliance
	d = newAppliance(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			d.shutdown("rest")
			<-d.ctx.Done()
			return
		}
		reply(w, http.StatusOK, "READY")
	})
	conn := &TrueNASConn{Server: rest.Server{URL: d.URL, Thumbprint: d.thumbprint()}, Username: "ebbtide", APIKey: secretRef, API: "rest"}
	n, _ := opened(t, "truenas", conn, "truenas", &TrueNASSpec{}, vault{})
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	require.Equal(t, []string{"rest"}, d.told())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, n.Do(ctx, adapter.Command{Verb: plan.Stop}), context.Canceled)
}
