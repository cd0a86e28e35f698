package arch

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// core is the deciding part: pure, and standing alone.
var core = []string{"internal/power", "internal/plan", "internal/engine"}

// coreMayImport is all of the standard library that the core may use, beside itself.
var coreMayImport = []string{
	"cmp", "crypto/sha256", "encoding/hex", "errors", "fmt", "iter", "maps", "math", "slices", "strconv", "strings", "time",
}

// clock are the functions of package time that read or wait for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

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

// TestTheCoreIsPure looks for what lint can't see: goroutines, channels, ranges over maps, the clock, state of the
// package.
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
		require.Empty(t, impure(t, fset, imp, p.ImportPath, files))
	}
}

// impure lists what in the files the core may not do.
func impure(t *testing.T, fset *token.FileSet, imp types.Importer, path string, files []*ast.File) []string {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: imp}
	_, err := conf.Check(module+path, fset, files, info)
	require.NoError(t, err)
	var found []string
	say := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s", fset.Position(n.Pos()), what))
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				checkVars(g, info, say)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				say(n, "starts a goroutine")
			case *ast.SelectStmt:
				say(n, "selects")
			case *ast.ChanType:
				say(n, "has a channel")
			case *ast.SendStmt:
				say(n, "sends")
			case *ast.RangeStmt:
				switch info.TypeOf(n.X).Underlying().(type) {
				case *types.Map:
					say(n, "ranges over a map: its order is random")
				case *types.Chan:
					say(n, "ranges over a channel")
				}
			case *ast.SelectorExpr:
				obj := info.Uses[n.Sel]
				if obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "time" && slices.Contains(clock, obj.Name()) {
					if _, isFunc := obj.(*types.Func); isFunc && obj.(*types.Func).Signature().Recv() == nil {
						say(n, "reads the clock with time."+obj.Name())
					}
				}
			}
			return true
		})
	}
	return found
}

// checkVars allows package variables that are tables or error values, and nothing else.
func checkVars(g *ast.GenDecl, info *types.Info, say func(ast.Node, string)) {
	for _, spec := range g.Specs {
		for _, name := range spec.(*ast.ValueSpec).Names {
			obj := info.Defs[name]
			if obj == nil {
				continue
			}
			switch u := obj.Type().Underlying().(type) {
			case *types.Array, *types.Slice:
			case *types.Interface:
				if obj.Type().String() != "error" {
					say(name, "is a package variable of type "+u.String())
				}
			default:
				say(name, "is a package variable: the core has no state of its own")
			}
		}
	}
}

func TestThePurityTestCanFail(t *testing.T) {
	t.Parallel()
	for what, src := range map[string]string{
		"goroutine": `func f() { go f() }`,
		"channel":   `func f(c chan int) { c <- 1 }`,
		"select":    `func f() { select {} }`,
		"map range": `func f(m map[int]int) { for range m {} }`,
		"clock":     "import \"time\"\nfunc f() time.Time { return time.Now() }",
		"state":     `var count int`,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "bad.go", "package bad\n"+src, parser.SkipObjectResolution)
		require.NoError(t, err)
		require.NotEmpty(t, impure(t, fset, importer.ForCompiler(fset, "source", nil), "bad", []*ast.File{f}), what)
	}
	fset := token.NewFileSet()
	good := "package good\nimport \"time\"\nvar table = [...]string{\"a\"}\nfunc f(now, then time.Time) bool { return now.After(then) }"
	f, err := parser.ParseFile(fset, "good.go", good, parser.SkipObjectResolution)
	require.NoError(t, err)
	require.Empty(t, impure(t, fset, importer.ForCompiler(fset, "source", nil), "good", []*ast.File{f}))
}
