package array

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/plan"
)

func (a *appliance) server() rest.Server { return rest.Server{URL: a.URL, Thumbprint: a.thumbprint()} }

var account = rest.Account{Username: "ebbtide", Password: secretRef}

// startSynology answers as the DSM Login Web API Guide has it, and SYNO.Core.System as DSM's own pages are answered.
func startSynology(t *testing.T, ended *atomic.Bool, logins *atomic.Int32) *appliance {
	var a *appliance
	a = newAppliance(t, func(w http.ResponseWriter, r *http.Request) {
		no := func(code int) { reply(w, http.StatusOK, object{"success": false, "error": object{"code": code}}) }
		if r.ParseForm() != nil || r.URL.Path != "/webapi/entry.cgi" || r.URL.RawQuery != "" {
			no(101)
			return
		}
		f := r.PostForm
		switch f.Get("api") + " " + f.Get("method") + " " + f.Get("version") {
		case "SYNO.API.Auth login 6":
			logins.Add(1)
			if f.Get("account") != "ebbtide" || f.Get("passwd") != planted {
				no(400)
				return
			}
			reply(w, http.StatusOK, object{"success": true, "data": object{"sid": "S1", "synotoken": "T1"}})
			return
		case "SYNO.Core.System info 1", "SYNO.Core.System shutdown 1":
		default:
			no(103)
			return
		}
		switch {
		case f.Get("_sid") != "S1" || r.Header.Get("X-SYNO-TOKEN") != "T1" || ended.CompareAndSwap(true, false):
			no(119)
		case f.Get("method") == "info":
			reply(w, http.StatusOK, object{"success": true, "data": object{"model": "RS1221+", "firmware_ver": "DSM 7.2.1-69057"}})
		default:
			a.shutdown("shutdown")
			reply(w, http.StatusOK, object{"success": true})
		}
	})
	return a
}

func TestContractOfSynology(t *testing.T) {
	contract(t, func(t *testing.T) (*appliance, adapter.Node, func() error) {
		a := startSynology(t, new(atomic.Bool), new(atomic.Int32))
		n, end := opened(t, "synology", &SynologyConn{a.server(), account}, "synology", &SynologySpec{refusalIsSilence}, vault{})
		return a, n, end
	})
}

func TestSynologySessionsAndPasswords(t *testing.T) {
	ended, logins := new(atomic.Bool), new(atomic.Int32)
	a := startSynology(t, ended, logins)
	n, _ := opened(t, "synology", &SynologyConn{a.server(), account}, "synology", &SynologySpec{}, vault{})
	seen, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err)
	require.Equal(t, plan.Observation{State: plan.On, Detail: "RS1221+, DSM 7.2.1-69057"}, seen)
	ended.Store(true)
	require.NoError(t, contracttest.Do(t, n, plan.Stop), "a session that has ended is replaced, and the command sent again")
	require.Equal(t, int32(2), logins.Load())
	require.Equal(t, []string{"shutdown"}, a.told())

	a = startSynology(t, ended, logins)
	n, _ = opened(t, "synology", &SynologyConn{a.server(), account}, "synology", &SynologySpec{}, vault{"planted": "wrong"})
	for _, means := range []error{adapter.ErrRefused, adapter.ErrUnreachable, adapter.ErrUnreachable} { // then it is not asked
		_, err = n.Probe(contracttest.Within(t, 10*time.Second))
		require.ErrorIs(t, err, means)
		require.ErrorContains(t, err, "no such account, or a wrong password")
	}
	require.Equal(t, int32(3), logins.Load(), "a wrong password is not tried again and again: DSM would block this machine's address")
}

// startUnity answers as the Unisphere Management REST API Programmer's Guide has it.
func startUnity(t *testing.T) *appliance {
	var a *appliance
	a = newAppliance(t, func(w http.ResponseWriter, r *http.Request) {
		user, secret, _ := r.BasicAuth()
		cookie, _ := r.Cookie("mod_auth_cas_S")
		switch {
		case r.Header.Get("X-EMC-REST-CLIENT") != "true" || user != "ebbtide" || secret != planted:
			reply(w, http.StatusUnauthorized, object{"error": object{
				"httpStatusCode": 401,
				"messages":       []object{{"en-US": "This request requires a successful login."}},
			}})
		case r.URL.Path == "/api/types/loginSessionInfo/instances":
			http.SetCookie(w, &http.Cookie{Name: "mod_auth_cas_S", Value: "cookie", Secure: true, HttpOnly: true})
			w.Header().Set("EMC-CSRF-TOKEN", "token")
			reply(w, http.StatusOK, object{})
		case cookie == nil:
			reply(w, http.StatusUnauthorized, object{})
		case r.Method == http.MethodGet && r.URL.Path == "/api/types/system/instances":
			reply(w, http.StatusOK, object{"entries": []object{{"content": object{
				"id": "0", "name": "UNITY1",
				"health": object{"descriptions": []string{"The system is operating normally."}},
			}}}})
		case r.Method == http.MethodPost && r.URL.Path == "/api/instances/serviceAction/shutdownSystem/action/execute":
			if r.Header.Get("EMC-CSRF-TOKEN") != "token" {
				reply(w, http.StatusForbidden, object{})
				return
			}
			a.shutdown("shutdownSystem")
			reply(w, http.StatusAccepted, object{"id": "N-1", "state": 1})
		default:
			http.NotFound(w, r)
		}
	})
	return a
}

func TestContractOfUnity(t *testing.T) {
	contract(t, func(t *testing.T) (*appliance, adapter.Node, func() error) {
		a := startUnity(t)
		n, end := opened(t, "unity", &UnityConn{a.server(), account}, "unity", &UnitySpec{refusalIsSilence}, vault{})
		return a, n, end
	})
}

func TestUnityTellsOfItself(t *testing.T) {
	a := startUnity(t)
	n, _ := opened(t, "unity", &UnityConn{a.server(), account}, "unity", &UnitySpec{}, vault{})
	seen, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err)
	require.Equal(t, "UNITY1 answers; The system is operating normally.", seen.Detail)

	n, _ = opened(t, "unity", &UnityConn{a.server(), account}, "unity", &UnitySpec{}, vault{"planted": "wrong"})
	_, err = n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "This request requires a successful login.")
}

// startNimble answers as the REST API Reference of NimbleOS has it.
func startNimble(t *testing.T) *appliance {
	var a *appliance
	a = newAppliance(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Data map[string]any }
		if r.Method == http.MethodPost {
			_ = json.NewDecoder(r.Body).Decode(&body)
		}
		switch r.Method + " " + r.URL.Path {
		case "POST /v1/tokens":
			if body.Data["username"] != "ebbtide" || body.Data["password"] != planted {
				reply(w, http.StatusUnauthorized, object{"messages": []object{{"code": "SM_http_unauthorized", "text": "Unauthorized"}}})
				return
			}
			reply(w, http.StatusCreated, object{"data": object{"session_token": "T1"}})
			return
		}
		if r.Header.Get("X-Auth-Token") != "T1" {
			reply(w, http.StatusUnauthorized, object{})
			return
		}
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/arrays":
			reply(w, http.StatusOK, object{"data": []object{
				{"name": "nimble1", "status": "reachable"},
				{"name": "nimble2", "status": "unreachable"},
			}})
		case "GET /v1/groups":
			reply(w, http.StatusOK, object{"data": []object{{"id": "0028", "name": "group"}}})
		case "POST /v1/groups/0028/actions/halt":
			if body.Data["force"] != true {
				reply(w, http.StatusConflict, object{"messages": []object{{
					"code": "SM_array_not_reachable",
					"text": "nimble2 is unreachable",
				}}})
				return
			}
			a.shutdown("halt")
			reply(w, http.StatusAccepted, object{})
		default:
			http.NotFound(w, r)
		}
	})
	return a
}

func TestContractOfNimble(t *testing.T) {
	contract(t, func(t *testing.T) (*appliance, adapter.Node, func() error) {
		a := startNimble(t)
		n, end := opened(t, "nimble", &NimbleConn{a.server(), account}, "nimble.group", &NimbleSpec{refusalIsSilence}, vault{})
		return a, n, end
	})
}

func TestNimbleHaltsTheWholeGroup(t *testing.T) {
	a := startNimble(t)
	n, _ := opened(t, "nimble", &NimbleConn{a.server(), account}, "nimble.group", &NimbleSpec{}, vault{})
	seen, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err)
	require.Equal(t, "the group answers; 2 arrays; nimble2 is unreachable", seen.Detail)
	require.NoError(t, contracttest.Do(t, n, plan.Stop), "also with one of its arrays out of reach")
	require.Equal(t, []string{"halt"}, a.told())
}

// A server that is not the one of the runbook gets no password.
func TestAnotherServerGetsNoPassword(t *testing.T) {
	asked := new(atomic.Int32)
	a := newAppliance(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "https://localhost:1/", http.StatusFound)
	})
	server := a.server()
	server.Thumbprint = strings.Repeat("00", 32)
	n, _ := opened(t, "nimble", &NimbleConn{server, account}, "nimble.group", &NimbleSpec{}, vault{})
	for _, err := range []error{
		contracttest.Do(t, n, plan.Stop),
		func() error { _, err := n.Probe(contracttest.Within(t, 10*time.Second)); return err }(),
	} {
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, a.thumbprint(), "it says what to put into thumbprint")
	}
	require.Zero(t, asked.Load())

	n, _ = opened(t, "nimble", &NimbleConn{a.server(), account}, "nimble.group", &NimbleSpec{}, vault{})
	_, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "302 Found", "a password does not follow to another host")
}
