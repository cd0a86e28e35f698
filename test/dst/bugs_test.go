package dst_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/sim"
	"ebbtide/test/dst"
)

var (
	bugsToTry = flag.String("dst.bugs", "sample", "which seeded bugs are tried: sample, all, or those whose name has this in it")
	bugSeeds  = flag.Int("dst.bugseeds", 2000, "within how many seeds of the campaign each must be caught")
)

// bug is a fault that somebody might write into the product one day: small edits of its source. It is caught by the
// campaign, as a rule that is broken, or by a test of another package.
type bug struct {
	name  string
	edits []edit
	by    string // the package and the test that catches it, "./internal/runner TestX"; "": the campaign
}

// edit replaces a piece of a file of the product, which must be there exactly once.
type edit struct{ file, was, is string }

// sampleEvery is how much of the table is tried without being asked for more, and sampleFrom where the hunts of that sample
// begin: whether a commit passes is no matter of luck. When all are tried they begin where the campaign does.
const (
	sampleEvery = 8
	sampleFrom  = 113_174_000
)

// TestBugsAreCaught holds that the rules can fail: each of the bugs in the table is built into a copy of the test's own
// binary (the toolchain's -overlay puts the edited file in the place of the real one) and must be found there. The
// product has no switch or hook for that whatever: what is shipped can't have these bugs turned on.
func TestBugsAreCaught(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for i, b := range bugs {
		switch {
		case *bugsToTry == "all":
		case *bugsToTry == "sample":
			if i%sampleEvery != 0 {
				continue
			}
		case !strings.Contains(b.name, *bugsToTry):
			continue
		}
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			b.hunt(t, root)
		})
	}
}

// TestBugsApply holds that each bug still is an edit of the product as it is, and compiles: also of those that are not tried now.
func TestBugsApply(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	compiled := compile(t, root)
	for _, b := range bugs {
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
			edited := b.edited(t, root)
			for _, dir := range slices.Sorted(maps.Keys(packagesOf(edited))) {
				require.NoError(t, compiled.check(root, dir, edited), "it does not compile")
			}
		})
	}
}

// packagesOf gives the folders of some files.
func packagesOf(files map[string]string) map[string]bool {
	dirs := map[string]bool{}
	for file := range files {
		dirs[filepath.Dir(file)] = true
	}
	return dirs
}

// compiled is the product as the toolchain has compiled it: the files of each package, and what it exports.
type compiled map[string]struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
}

// compile has the toolchain compile what the bugs are built into, and all that it stands on.
func compile(t *testing.T, root string) compiled {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./internal/...")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	all := compiled{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		pkg := all[""]
		require.NoError(t, dec.Decode(&pkg))
		all[pkg.ImportPath] = pkg
	}
	return all
}

// check type-checks a package of the product with some of its files edited.
func (c compiled) check(root, dir string, edited map[string]string) error {
	pkg := c["ebbtide/"+filepath.ToSlash(dir)]
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		var src any // nil: what is on disk
		if text, is := edited[filepath.Join(dir, name)]; is {
			src = text
		}
		file, err := parser.ParseFile(fset, filepath.Join(root, dir, name), src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	exports := func(path string) (io.ReadCloser, error) { return os.Open(c[path].Export) }
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exports)}
	_, err := config.Check(pkg.ImportPath, fset, files, nil)
	return err
}

// named is the pattern of one test, or of one part of it.
func named(test string) string { return "^" + strings.ReplaceAll(test, "/", "$/^") + "$" }

// hunt builds the bug in and looks for it.
func (b *bug) hunt(t *testing.T, root string) {
	dir := t.TempDir()
	overlay := b.overlay(t, root, dir)
	pkg, test := "./test/dst", "TestCampaign"
	if b.by != "" {
		pkg, test, _ = strings.Cut(b.by, " ")
	}
	binary := filepath.Join(dir, "test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags", "-s -w", "-overlay", overlay, "-o", binary, pkg)
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "the bug %q does not compile:\n%s", b.name, out)
	began := time.Now()
	run := func(args ...string) (string, error) {
		run := exec.CommandContext(t.Context(), binary, append([]string{"-test.run", named(test), "-test.timeout", "5m"}, args...)...)
		run.Dir, run.Env = filepath.Join(root, pkg), append(os.Environ(), "GOMAXPROCS=1")
		out, err := run.CombinedOutput()
		return string(out), err
	}
	if b.by != "" {
		out, err := run()
		require.Error(t, err, "the bug %q was not caught by %s", b.name, b.by)
		require.Contains(t, out, "--- FAIL: "+test, "the bug %q broke the test instead of failing it", b.name)
		t.Logf("%s: caught by %s in %s", b.name, b.by, time.Since(began).Round(100*time.Millisecond))
		return
	}
	first := uint64(sampleFrom)
	if *bugsToTry != "sample" {
		first, _ = begin(t)
	}
	for seed := first; ; seed++ { // one that breaks a rule without the bug too shows nothing
		left := first + uint64(*bugSeeds) - seed
		out, _ := run("-dst.broken", "0", "-dst.first", "-dst.from", strconv.FormatUint(seed, 10), "-dst.seeds", strconv.FormatUint(left, 10))
		found := caught.FindStringSubmatch(out)
		require.NotNil(t, found, "the bug %q was not caught within %d seeds:\n%s", b.name, *bugSeeds, out)
		seed, err = strconv.ParseUint(found[1], 10, 64)
		require.NoError(t, err)
		_, clean, err := playWith(sim.Check, dst.Draw(dst.Seeded(seed)))
		require.NoError(t, err)
		if len(clean.Violations) == 0 {
			t.Logf("%s: caught at seed %d in %s: %s", b.name, seed, time.Since(began).Round(100*time.Millisecond), found[2])
			return
		}
	}
}

// caught is how the campaign tells of a broken rule: all rules have numbers.
var caught = regexp.MustCompile(`seed (\d+): (\d+: .*)`)

// edited gives the files that the bug edits, as they are with it.
func (b *bug) edited(t *testing.T, root string) map[string]string {
	t.Helper()
	edited := map[string]string{}
	for _, e := range b.edits {
		text, known := edited[e.file]
		if !known {
			src, err := os.ReadFile(filepath.Join(root, e.file))
			require.NoError(t, err)
			text = string(src)
		}
		require.Equal(t, 1, strings.Count(text, e.was), "the bug %q is out of date: %s must have exactly one\n%s", b.name, e.file, e.was)
		edited[e.file] = strings.Replace(text, e.was, e.is, 1)
	}
	return edited
}

// overlay writes the edited files, and the list of them that the toolchain takes; it gives that list's name.
func (b *bug) overlay(t *testing.T, root, dir string) string {
	list := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range b.edited(t, root) {
		path := filepath.Join(dir, fmt.Sprint(len(list.Replace), ".go"))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		list.Replace[filepath.Join(root, file)] = path
	}
	doc, err := json.Marshal(list)
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, doc, 0o600))
	return path
}
