package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// oldCommit is the last one with the old engine, which was made anew beside it and then took its place.
const oldCommit = "c17c4cf47491c26b34a0d83922241b6722d23c05"

const engineDir = "internal/engine"

// stages gives the old engine, to which a stage is a string, those of today, which have a type.
var stages = strings.NewReplacer(
	"power.ProtectStage", "plan.ProtectStage",
	"power.ShutdownStage", "plan.ShutdownStage",
	"Stage  string ", "Stage  plan.Stage ",
	"Stage   string ", "Stage   plan.Stage ",
	"Stage    string ", "Stage    plan.Stage ",
	"Stage string ", "Stage plan.Stage ",
	"name     string\n", "name     plan.Stage\n",
	"s.Name == d.Stage", "plan.Stage(s.Name) == d.Stage",
	"stage.Name,", "plan.Stage(stage.Name),",
	"stage(name string)", "stage(name plan.Stage)",
	"began(name string,", "began(name plan.Stage,",
	"due(node int, name string)", "due(node int, name plan.Stage)",
	"trigger(stage string,", "trigger(stage plan.Stage,",
	`"stage "+stage+`, `"stage "+string(stage)+`,
)

// adapter is what the simulator asks of an engine today and the old one does not have.
//
//go:embed testdata/adapter.go
var adapter []byte

// names give what the old engine has the names of today's, which has them in packages of their own.
//
//go:embed testdata/ledger.go testdata/effect.go testdata/foresight.go
var names embed.FS

// span is where the old engine has the words for a span of time.
//
//go:embed testdata/plan.go
var span []byte

// named are those packages; what else only today's engine imports is not built.
var named = []string{"ledger", "effect", "foresight"}

const adapterFile = "test/peer/testdata/adapter.go"

// oldEngine takes the old engine out of the history into a folder, and gives the path of an overlay (`go help build`) that puts
// it in the place of today's.
func oldEngine(ctx context.Context, root, dir string) (overlay string, err error) {
	if err := known(ctx, root); err != nil {
		return "", err
	}
	replace := map[string]string{} // "": as if the file were not there
	for _, room := range append([]string{"engine"}, named...) {
		today, err := filepath.Glob(filepath.Join(root, "internal", room, "*.go"))
		if err != nil {
			return "", err
		}
		for _, file := range today {
			replace[file] = ""
		}
	}
	put := func(room, name string, text []byte) error {
		at := filepath.Join(dir, filepath.Base(room)+"_"+name)
		replace[filepath.Join(root, room, name)] = at
		return os.WriteFile(at, text, 0o600)
	}
	list, err := git(ctx, root, "ls-tree", "--name-only", oldCommit, engineDir+"/")
	if err != nil {
		return "", err
	}
	for path := range strings.FieldsSeq(list) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := git(ctx, root, "show", oldCommit+":"+path)
		if err != nil {
			return "", err
		}
		if err := put(engineDir, filepath.Base(path), []byte(stages.Replace(text))); err != nil {
			return "", err
		}
	}
	if err := put(engineDir, "peer_adapter.go", adapter); err != nil {
		return "", err
	}
	if err := put("internal/plan", "peer_plan.go", span); err != nil {
		return "", err
	}
	for _, room := range named {
		text, err := names.ReadFile("testdata/" + room + ".go")
		if err == nil {
			err = put("internal/"+room, "peer_"+room+".go", text)
		}
		if err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// known says whether the history has the old engine, and if not what to do.
func known(ctx context.Context, root string) error {
	if _, err := git(ctx, root, "cat-file", "-e", oldCommit+"^{commit}"); err == nil {
		return nil
	}
	missing := fmt.Errorf("cannot find the old engine: commit %s is not in this clone", oldCommit[:7])
	if shallow, err := git(ctx, root, "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(shallow) == "true" {
		return hinted{fmt.Errorf("%w, whose history is shallow", missing), "fetch the rest: git fetch --unshallow"}
	}
	return hinted{missing, "fetch main from where the repository is from: git fetch origin main"}
}

// git runs git in a folder and gives what it prints.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("cannot run git %s: %w", args[0], err)
	}
	return string(out), nil
}
