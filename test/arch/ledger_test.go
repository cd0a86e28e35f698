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

const ledgerPath = "ebbtide/internal/ledger"

// records are what the ledger's package declares that anybody may make and change: the records themselves.
var records = []string{"Record", "Opening", "Power", "Step", "Word", "NodeState", "Numbers"}

// TestTheLedgerChangesByItsRecordsAlone looks for what changes the ledger beside its one way in: an assignment, in what
// stands on it, to a field of what the ledger declares, or the address of one. What changes it by a method is not
// exported.
func TestTheLedgerChangesByItsRecordsAlone(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	for _, room := range []string{"belief", "permit", "want", "foresight", "work", "engine"} {
		names, err := filepath.Glob("../../internal/" + room + "/*.go")
		require.NoError(t, err)
		var files []*ast.File
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, f)
		}
		require.NotEmpty(t, files)
		found, err := besideRecords(fset, importer.ForCompiler(fset, "source", nil), files)
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

func TestTheLedgerTestCanFail(t *testing.T) {
	t.Parallel()
	for src, wrong := range map[string]bool{
		`func f(l *ledger.Ledger) { l.Apply(nil) }`:                                false,
		`func f(l *ledger.Ledger) bool { return l.Outage.Nodes[0].IsTouched() }`:   false,
		`func f(l *ledger.Ledger) *ledger.Node { return &l.Outage.Nodes[0] }`:      false,
		`func f(r *ledger.Record) { r.Seq = 2 }`:                                   false,
		`func f(l *ledger.Ledger) { l.Op = 2 }`:                                    true,
		`func f(l *ledger.Ledger) { l.Op++ }`:                                      true,
		`func f(l *ledger.Ledger) { l.Outage.Nodes[0].Late = true }`:               true,
		`func f(l *ledger.Ledger) { l.Outage.Nodes[0] = ledger.Node{} }`:           true,
		`func f(l *ledger.Ledger) { n := &l.Outage.Nodes[0]; n.Snap.Past = true }`: true,
		`func f(l *ledger.Ledger) *int { return &l.Outage.Nodes[0].Relapses }`:     true,
		`func f(l *ledger.Ledger) { clear(l.Outage.Nodes) }`:                       true,
	} {
		fset := token.NewFileSet()
		one, err := parser.ParseFile(fset, "one.go", "package p\nimport \"ebbtide/internal/ledger\"\n"+src, parser.SkipObjectResolution)
		require.NoError(t, err)
		found, err := besideRecords(fset, importer.ForCompiler(fset, "source", nil), []*ast.File{one})
		require.NoError(t, err)
		require.Equal(t, wrong, len(found) > 0, "%s: %v", src, found)
	}
}

// besideRecords tells where a package changes what the ledger holds.
func besideRecords(fset *token.FileSet, imp types.Importer, files []*ast.File) ([]string, error) {
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: imp}).Check("p", fset, files, info); err != nil {
		return nil, err
	}
	source := typed{info}
	var found []string
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if n != nil && source.writes(n) {
				found = append(found, fmt.Sprintf("%s: changes the ledger", fset.Position(n.Pos())))
			}
			return true
		})
	}
	return found, nil
}

// typed is source of which the types are known.
type typed struct{ *types.Info }

// writes reports whether a statement or an expression changes what the ledger holds, or gives the address by which it may be changed.
func (s typed) writes(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return slices.ContainsFunc(n.Lhs, s.isDurable)
	case *ast.IncDecStmt:
		return s.isDurable(n.X)
	case *ast.UnaryExpr:
		return n.Op == token.AND && s.isDurable(n.X) && !isOfLedger(s.Types[n.X].Type)
	case *ast.CallExpr:
		builtin, ok := n.Fun.(*ast.Ident)
		return ok && slices.Contains([]string{"clear", "copy", "delete"}, builtin.Name) && s.isDurable(n.Args[0])
	default:
		return false
	}
}

// isDurable reports whether an expression is a field of what the ledger holds, or an element of one.
func (s typed) isDurable(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.IndexExpr:
		return s.isDurable(x.X)
	case *ast.SelectorExpr:
		sel := s.Selections[x]
		return sel != nil && sel.Kind() == types.FieldVal && (isOfLedger(sel.Recv()) || s.isDurable(x.X))
	default:
		return false
	}
}

// isOfLedger reports whether a type, or what it points to, is one that the ledger declares for itself.
func isOfLedger(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == ledgerPath && !slices.Contains(records, named.Obj().Name())
}
