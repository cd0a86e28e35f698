package arch

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	ledgerFile = "ledger.go"
	ledgerWay  = "apply" // the one way in
)

// TestTheLedgerChangesByItsRecordsAlone looks for what changes the engine's ledger beside its records: an assignment to a field of
// what ledger.go declares, in another file, the address of one, or a call of what assigns to one.
func TestTheLedgerChangesByItsRecordsAlone(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	names, err := filepath.Glob("../../internal/engine/*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if match, _ := filepath.Match("*_test.go", filepath.Base(name)); match {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	found, err := besideRecords(fset, importer.ForCompiler(fset, "source", nil), files)
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestTheLedgerTestCanFail(t *testing.T) {
	t.Parallel()
	const ledger = `package p
type ledger struct { o *outage; n int }
type outage struct { nodes []entry }
type entry struct { on bool }
func newLedger() ledger { return ledger{n: 1} }
func (l *ledger) apply() { l.n++; l.o.nodes[0].set() }
func (e *entry) set() { e.on = true }
func (e *entry) is() bool { return e.on }
`
	for src, wrong := range map[string]bool{
		`func f(l *ledger) { l.apply() }`:                       false,
		`func f(l *ledger) bool { return l.o.nodes[0].is() }`:   false,
		`func f(l *ledger) *entry { return &l.o.nodes[0] }`:     false,
		`func f() ledger { l := newLedger(); return l }`:        false,
		`func f(l *ledger) { l.n = 2 }`:                         true,
		`func f(l *ledger) { l.n++ }`:                           true,
		`func f(l *ledger) { l.o.nodes[0].on = false }`:         true,
		`func f(l *ledger) { l.o.nodes[0] = entry{} }`:          true,
		`func f(l *ledger) { e := &l.o.nodes[0]; e.on = true }`: true,
		`func f(l *ledger) { l.o.nodes[0].set() }`:              true,
		`func f(l *ledger) *int { return &l.n }`:                true,
		`func f(l *ledger) { clear(l.o.nodes) }`:                true,
	} {
		fset := token.NewFileSet()
		one, err := parser.ParseFile(fset, ledgerFile, ledger, parser.SkipObjectResolution)
		require.NoError(t, err)
		other, err := parser.ParseFile(fset, "other.go", "package p\n"+src, parser.SkipObjectResolution)
		require.NoError(t, err)
		found, err := besideRecords(fset, importer.Default(), []*ast.File{one, other})
		require.NoError(t, err)
		require.Equal(t, wrong, len(found) > 0, "%s: %v", src, found)
	}
}

// besideRecords tells where a package's ledger is changed otherwise than by its one way.
func besideRecords(fset *token.FileSet, imp types.Importer, files []*ast.File) ([]string, error) {
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: imp}).Check("p", fset, files, info); err != nil {
		return nil, err
	}
	in := func(n ast.Node) string { return filepath.Base(fset.Position(n.Pos()).Filename) }
	own := func(t types.Type) bool { // what ledger.go declares
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		named, ok := t.(*types.Named)
		return ok && filepath.Base(fset.Position(named.Obj().Pos()).Filename) == ledgerFile
	}
	// durable tells whether an expression is a field of what the ledger holds, or an element of one.
	var durable func(ast.Expr) bool
	durable = func(x ast.Expr) bool {
		switch x := x.(type) {
		case *ast.IndexExpr:
			return durable(x.X)
		case *ast.SelectorExpr:
			sel := info.Selections[x]
			return sel != nil && sel.Kind() == types.FieldVal && (own(sel.Recv()) || durable(x.X))
		default:
			return false
		}
	}
	writes := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			return slices.ContainsFunc(n.Lhs, durable)
		case *ast.IncDecStmt:
			return durable(n.X)
		case *ast.UnaryExpr:
			return n.Op == token.AND && durable(n.X) && !own(info.Types[n.X].Type)
		case *ast.CallExpr:
			builtin, ok := n.Fun.(*ast.Ident)
			return ok && slices.Contains([]string{"clear", "copy", "delete"}, builtin.Name) && durable(n.Args[0])
		default:
			return false
		}
	}
	changers := changersOf(info, files, in, writes)
	var found []string
	for _, f := range files {
		if in(f) == ledgerFile {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if x, ok := call.Fun.(*ast.SelectorExpr); ok && info.Selections[x] != nil && changers[info.Selections[x].Obj()] {
					found = append(found, fmt.Sprintf("%s: calls %s", fset.Position(n.Pos()), x.Sel.Name))
				}
			}
			if n != nil && writes(n) {
				found = append(found, fmt.Sprintf("%s: changes the ledger", fset.Position(n.Pos())))
			}
			return true
		})
	}
	return found, nil
}

// changersOf gives the methods of ledger.go that change what it holds, themselves or through others, but for the one way in.
func changersOf(info *types.Info, files []*ast.File, in func(ast.Node) string, writes func(ast.Node) bool) map[types.Object]bool {
	changers := map[types.Object]bool{}
	for before := -1; before < len(changers); {
		before = len(changers)
		for _, f := range files {
			for _, decl := range f.Decls {
				d, ok := decl.(*ast.FuncDecl)
				if !ok || in(f) != ledgerFile || d.Recv == nil {
					continue
				}
				ast.Inspect(d.Body, func(n ast.Node) bool {
					x, selects := n.(*ast.SelectorExpr)
					if n != nil && writes(n) || selects && info.Selections[x] != nil && changers[info.Selections[x].Obj()] {
						changers[methodOf(info, d)] = true
					}
					return true
				})
			}
		}
	}
	maps.DeleteFunc(changers, func(o types.Object, _ bool) bool { return o.Name() == ledgerWay })
	return changers
}

// methodOf gives what a method's declaration declares.
func methodOf(info *types.Info, d *ast.FuncDecl) types.Object {
	recv := info.Types[d.Recv.List[0].Type].Type
	obj, _, _ := types.LookupFieldOrMethod(recv, true, nil, d.Name.Name)
	if obj == nil {
		if p, ok := recv.(*types.Pointer); ok {
			recv = p.Elem()
		}
		obj, _, _ = types.LookupFieldOrMethod(recv, true, recv.(*types.Named).Obj().Pkg(), d.Name.Name)
	}
	return obj
}
