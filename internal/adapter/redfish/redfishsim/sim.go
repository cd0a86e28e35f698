// Package redfishsim is a management controller for tests and demonstrations, built from the DMTF's schema: DSP0266 1.20
// (service root, collections, HTTP Basic, errors) and ComputerSystem v1 (PowerState, the action Reset with its allowable
// values). It is deterministic and can be broken in every way that a test wants. It is no vendor's firmware.
package redfishsim

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// User and Password are what a controller lets in.
const (
	User     = "ebbtide"
	Password = "planted-redfish-secret"
)

// Options say what a controller is like.
type Options struct {
	Systems    []string      // ids of its machines; none: "1"
	Takes      time.Duration // from an accepted graceful shutdown or power-on until it is done
	Deaf       bool          // what runs on the machines does not hear a graceful shutdown
	Resets     []string      // the reset types that it takes; none: On, ForceOff, GracefulShutdown, ForceRestart
	ActionInfo bool          // tells them by an ActionInfo of its own instead of in the action
	Machine    Machine       // what its first machine's power really is; nil: a table's word
}

// Machine is what a controller powers. It does not hear a graceful shutdown.
type Machine interface {
	On() bool
	PowerOn()
	PowerOff()
}

// Server is a controller. Its methods may be called at the same time.
type Server struct {
	*httptest.Server
	options Options
	thaw    chan struct{} // closed when it is closed

	mu      sync.Mutex
	power   map[string]*power
	resets  []string
	logins  int
	frozen  bool
	answers int // the status of every answer instead of the right one; 0: the right one
	after   int // requests that are still answered rightly before that
}

type power struct {
	state string
	next  string // what it will be
	at    time.Time
}

// New starts a controller on a loopback port of its own, with its machines on.
func New(o Options) *Server {
	if len(o.Systems) == 0 {
		o.Systems = []string{"1"}
	}
	if len(o.Resets) == 0 {
		o.Resets = []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"}
	}
	s := &Server{options: o, power: map[string]*power{}, thaw: make(chan struct{})}
	for _, id := range o.Systems {
		s.power[id] = &power{state: "On"}
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = nil
	s.StartTLS()
	return s
}

// Close ends the controller and all that hangs in it.
func (s *Server) Close() {
	select {
	case <-s.thaw:
	default:
		close(s.thaw)
	}
	s.CloseClientConnections()
	s.Server.Close()
}

// Thumbprint is the SHA-256 of its certificate.
func (s *Server) Thumbprint() string {
	sum := sha256.Sum256(s.Certificate().Raw)
	return hex.EncodeToString(sum[:])
}

// Power tells a machine's power state as it is now.
func (s *Server) Power(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled(id).state
}

// Set presses a machine's button.
func (s *Server) Set(id, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.power[id] = power{state: state}
}

// Resets lists the reset types that were taken.
func (s *Server) Resets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.resets)
}

// Logins counts the requests that named a user and a wrong password.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Freeze makes it accept requests and answer none.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
}

// Answer makes it answer all but the next so many requests with a status; 0 mends it.
func (s *Server) Answer(status, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.after = status, after
}

// settled gives a machine's power as of now. The server is locked.
func (s *Server) settled(id string) *power {
	p := s.power[id]
	if m := s.machine(id); m != nil {
		*p = power{state: map[bool]string{true: "On", false: "Off"}[m.On()]}
	}
	if p.next != "" && !time.Now().Before(p.at) {
		*p = power{state: p.next}
	}
	return p
}

// machine gives what is behind one of its machines; nil: nothing.
func (s *Server) machine(id string) Machine {
	if id != s.options.Systems[0] {
		return nil
	}
	return s.options.Machine
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		s.mu.Unlock()
		select {
		case <-r.Context().Done():
		case <-s.thaw:
		}
		s.mu.Lock()
		return
	}
	if s.after--; s.answers != 0 && s.after < 0 {
		fail(w, s.answers, "The service is broken on purpose.")
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "/redfish/v1" { // the one resource that needs no login
		reply(w, map[string]any{
			"@odata.id": "/redfish/v1", "@odata.type": "#ServiceRoot.v1_16_0.ServiceRoot", "Id": "RootService",
			"Name": "Root Service", "RedfishVersion": "1.20.0", "Systems": link("/redfish/v1/Systems"),
		})
		return
	}
	user, password, _ := r.BasicAuth()
	if user != User || subtle.ConstantTimeCompare([]byte(password), []byte(Password)) != 1 {
		s.logins++
		fail(w, http.StatusUnauthorized, "There is no valid session established with the implementation.")
		return
	}
	rest, under := strings.CutPrefix(path, "/redfish/v1/Systems")
	id, action, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch {
	case under && rest == "" && r.Method == http.MethodGet:
		s.collection(w)
	case !under || s.power[id] == nil:
		fail(w, http.StatusNotFound, "The resource at the URI "+path+" was not found.")
	case action == "" && r.Method == http.MethodGet:
		s.system(w, id)
	case action == "ResetActionInfo" && s.options.ActionInfo:
		reply(w, map[string]any{
			"@odata.id": path, "@odata.type": "#ActionInfo.v1_4_0.ActionInfo", "Id": "ResetActionInfo", "Name": "Reset Action Info",
			"Parameters": []any{map[string]any{
				"Name": "ResetType", "Required": true, "DataType": "String",
				"AllowableValues": s.options.Resets,
			}},
		})
	case action == "Actions/ComputerSystem.Reset" && r.Method == http.MethodPost:
		s.reset(w, r, id)
	default:
		fail(w, http.StatusMethodNotAllowed, "The method is not allowed for this resource.")
	}
}

func (s *Server) collection(w http.ResponseWriter) {
	members := make([]any, len(s.options.Systems))
	for i, id := range s.options.Systems {
		members[i] = link("/redfish/v1/Systems/" + id)
	}
	reply(w, map[string]any{
		"@odata.id": "/redfish/v1/Systems", "@odata.type": "#ComputerSystemCollection.ComputerSystemCollection",
		"Name":                "Computer System Collection",
		"Members@odata.count": len(members), "Members": members,
	})
}

func (s *Server) system(w http.ResponseWriter, id string) {
	path := "/redfish/v1/Systems/" + id
	reset := map[string]any{"target": path + "/Actions/ComputerSystem.Reset"}
	if s.options.ActionInfo {
		reset["@Redfish.ActionInfo"] = path + "/ResetActionInfo"
	} else {
		reset["ResetType@Redfish.AllowableValues"] = s.options.Resets
	}
	reply(w, map[string]any{
		"@odata.id": path, "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem", "Id": id, "Name": "System " + id,
		"SystemType": "Physical", "PowerState": s.settled(id).state, "Actions": map[string]any{"#ComputerSystem.Reset": reset},
	})
}

func (s *Server) reset(w http.ResponseWriter, r *http.Request, id string) {
	var body struct{ ResetType string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !slices.Contains(s.options.Resets, body.ResetType) {
		fail(w, http.StatusBadRequest, "The value "+body.ResetType+" for the property ResetType is not in the list of acceptable values.")
		return
	}
	p := s.settled(id)
	if strings.HasSuffix(body.ResetType, "On") == (p.state == "On") {
		fail(w, http.StatusConflict, "The request cannot be performed in the current power state.") // as iDRAC and iLO have it
		return
	}
	s.resets = append(s.resets, body.ResetType)
	if m := s.machine(id); m != nil {
		switch body.ResetType {
		case "On", "ForceOn":
			m.PowerOn()
		case "ForceOff":
			m.PowerOff()
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	at := time.Now().Add(s.options.Takes)
	switch body.ResetType {
	case "On", "ForceOn":
		*p = power{state: "PoweringOn", next: "On", at: at}
	case "ForceOff":
		*p = power{state: "Off"}
	case "GracefulShutdown":
		if !s.options.Deaf {
			*p = power{state: "On", next: "Off", at: at}
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func link(path string) map[string]any { return map[string]any{"@odata.id": path} }

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("OData-Version", "4.0")
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": "Base.1.18.GeneralError", "message": "A general error has occurred.",
		"@Message.ExtendedInfo": []any{map[string]any{"MessageId": "Base.1.18.GeneralError", "Message": message}},
	}})
}
