package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"ebbtide/test/golden"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ebbtide": func() {
			os.Exit(Main(context.Background(), World{
				Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Version: "1.2.3",
			}))
		},
	})
}

// TestScripts runs the command lines in testdata/script. Beside testscript's own commands a script has
//
//	ends CODE ARGUMENT…     runs ebbtide and holds that it ends with this exit code
//	daemon FILE             a daemon at $DAEMON that gives FILE for its status and refuses every command
//	drills FILE             a daemon at $DAEMON that gives FILE for the plan of every drill and refuses to begin it
//	journal FILE [DAMAGE…]  makes a journal and damages it: see damages
//	learned FILE            makes a journal of which something can be learned: see makeLearned
//	journaled FILE RECORDS MODE [N]  makes a journal of records, of the first N alone if that is said
//	holding FILE            a daemon at $DAEMON that has a journal open and tells of its outages
func TestScripts(t *testing.T) {
	t.Parallel()
	runbooks, err := filepath.Abs("../../runbooks")
	require.NoError(t, err)
	testdata, err := filepath.Abs("testdata")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: golden.Rewrites(), RequireUniqueNames: true, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("RUNBOOKS", runbooks)
			e.Setenv("TESTDATA", testdata)
			e.Setenv("DAEMON", "unix:"+filepath.Join(e.WorkDir, "s"))
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool,
			[]string){
			"ends": ends, "daemon": fakeDaemon, "drills": fakeDrills, "journal": makeJournal, "learned": makeLearned,
			"journaled": makeJournaled, "holding": makeHolding,
		},
	})
}

func ends(ts *testscript.TestScript, _ bool, args []string) {
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec("ebbtide", args[1:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("ebbtide did not run: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != code {
		ts.Fatalf("ebbtide ended with exit code %d, not %d", got, code)
	}
}

func fakeDaemon(ts *testscript.TestScript, _ bool, args []string) {
	status := ts.ReadFile(args[0])
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(status)) // a client that has gone fails the script by itself
	})
	mux.HandleFunc("POST /v1/commands", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error": "cannot hold: all supplies are on line", "hint": "wait for an outage"}`, http.StatusConflict)
	})
	serveAt(ts, mux)
}

// serveAt serves a daemon's API at $DAEMON until the script ends.
func serveAt(ts *testscript.TestScript, mux http.Handler) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", filepath.Join(ts.Getenv("WORK"), "s"))
	ts.Check(err)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	ts.Defer(func() { _ = server.Close() })
}

// fakeDrills takes the place of the one before, if there was one.
func fakeDrills(ts *testscript.TestScript, _ bool, args []string) {
	drillPlan := ts.ReadFile(args[0])
	socket := filepath.Join(ts.Getenv("WORK"), "s")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/drill", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("preview") == "1" {
			_, _ = w.Write([]byte(drillPlan)) // a client that has gone fails the script by itself
			return
		}
		http.Error(w, `{"error": "cannot drill: supply ups is on battery", "hint": "wait until every supply is on line"}`,
			http.StatusConflict)
	})
	serveAt(ts, mux)
}
