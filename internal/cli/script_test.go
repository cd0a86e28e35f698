package cli

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata give now")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ebbtide": func() {
			os.Exit(Main(context.Background(), World{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Version: "1.2.3"}))
		},
	})
}

// TestScripts runs the command lines in testdata/script. Beside testscript's own commands a script has
//
//	ends CODE ARGUMENT…     runs ebbtide and holds that it ends with this exit code
//	journal FILE [DAMAGE…]  makes a journal and damages it: see damages
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *rewrite, RequireUniqueNames: true, RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"ends": ends, "journal": makeJournal},
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
