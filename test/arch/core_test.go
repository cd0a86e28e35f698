package arch

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// core is the deciding part: pure, and standing alone.
var core = []string{
	"internal/english", "internal/power", "internal/plan", "internal/ledger", "internal/belief", "internal/permit",
	"internal/want", "internal/foresight", "internal/effect", "internal/work", "internal/engine",
}

// coreMayImport is all of the standard library that the core may use, beside itself.
var coreMayImport = []string{
	"cmp", "crypto/sha256", "encoding/hex", "errors", "fmt", "iter", "maps", "math", "slices", "strconv", "strings", "time",
}

func TestTheCoreStandsAlone(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range list(t) {
		if !slices.Contains(core, p.ImportPath) {
			continue
		}
		seen++
		for _, imp := range p.Imports {
			ours := slices.Contains(core, strings.TrimPrefix(imp, module))
			require.True(t, ours || slices.Contains(coreMayImport, imp), "%s imports %s", p.ImportPath, imp)
		}
	}
	require.Len(t, core, seen)
}

// TestTheCoreIsPure looks for what lint can't see: goroutines, channels, the random order of maps, the clock, state of
// the package.
func TestTheCoreIsPure(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "source", nil)
	for _, p := range list(t) {
		if !slices.Contains(core, p.ImportPath) {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, f)
		}
		found, err := impure(fset, imp, module+p.ImportPath, files)
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

func TestThePurityTestCanFail(t *testing.T) {
	t.Parallel()
	const table = "var table = [...]int{1}\n"
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "source", nil)
	for _, c := range []struct{ src, want string }{
		{`func f() { go f() }`, "starts a goroutine"},
		{`func f() { select {} }`, "selects"},
		{`type t struct{ c chan int }`, "has a channel"},
		{`func f(c chan int) { c <- 1 }`, "sends"},
		{`func f(c chan int) int { return <-c }`, "receives"},
		{`func f(c chan int) { for range c {} }`, "ranges over a channel"},
		{`func f(m map[int]int) { for range m {} }`, "ranges over a map"},
		{`func f[M ~map[int]int](m M) { for range m {} }`, "ranges over a map"},
		{`import "maps"; func f(m map[int]int) { for range maps.Keys(m) {} }`, "maps.Keys gives"},
		{`import ("maps"; "slices"); func f(m map[int]int) []int { return slices.Collect(maps.Values(m)) }`, "maps.Values gives"},
		{`import "time"; func f() time.Time { return time.Now() }`, "time.Now"},
		{`import "time"; var f = [...]func() time.Time{time.Now}`, "time.Now"},
		{`import . "time"; func f(t Time) Duration { return Since(t) }`, "time.Since"},
		{`import "time"; type t struct{ t *time.Timer }`, "time.Timer"},
		{`var count int`, "keeps state"},
		{`var cache = map[string]int{}`, "keeps state"},
		{`var list = []string{"a"}`, "keeps state"},
		{`import "errors"; var e = errors.New("x"); func f() { e = nil }`, "changes a package variable"},
		{table + `func f() { table[0] = 2 }`, "changes a package variable"},
		{table + `func f() { (table[0])++ }`, "changes a package variable"},
		{table + `func f() { for table[0] = range 3 {} }`, "changes a package variable"},
		{table + `func f() *int { return &table[0] }`, "lends a package variable"},
		{table + `func f() []int { return table[:] }`, "lends a package variable"},
		{`import "slices"; ` + table + `func f() { slices.Sort(table[:]) }`, "lends a package variable"},
	} {
		found, err := impure(fset, imp, "bad", parse(t, fset, c.src))
		require.NoError(t, err, c.src)
		require.Contains(t, strings.Join(found, "\n"), c.want, c.src)
	}
	for _, src := range []string{
		`import "time"; func f(now, then time.Time) bool { return now.After(then) }`,
		`import "errors"; var errGone = errors.New("gone"); func f() error { return errGone }`,
		`type port interface{ do() }; type impl struct{}; func (impl) do() {}; var _ port = impl{}`,
		`import ("maps"; "slices"); func f(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }`,
		`import "slices"; ` + table + `func f() []int { return slices.Clone(table[:]) }`,
		table + `func f() int { table := []int{2}; table[0] = 3; for i := range table { table[0] += i }; return table[0] }`,
	} {
		found, err := impure(fset, imp, "good", parse(t, fset, src))
		require.NoError(t, err, src)
		require.Empty(t, found, src)
	}
}

func parse(t *testing.T, fset *token.FileSet, src string) []*ast.File {
	t.Helper()
	f, err := parser.ParseFile(fset, "snippet.go", "package snippet\n"+src, parser.SkipObjectResolution)
	require.NoError(t, err, src)
	return []*ast.File{f}
}
