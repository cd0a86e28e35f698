package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// clock are what package time has that reads or waits for the clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Timer", "Ticker"}

// unordered are the functions of package maps that give elements in random order.
var unordered = []string{"All", "Keys", "Values"}

// readers are functions that keep and change nothing of a slice that they are given.
var readers = []string{"slices.Clone", "slices.Contains", "slices.Index", "slices.Values", "strings.Join"}

// walker looks at one package of the core.
type walker struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	excused map[ast.Node]bool // by what stands around them
	found   []string
}

// impure lists what in the files of one package the core may not do. An error says that they could not be checked.
func impure(fset *token.FileSet, imp types.Importer, path string, files []*ast.File) ([]string, error) {
	w := &walker{fset: fset, excused: map[ast.Node]bool{}, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}}
	conf := types.Config{Importer: imp}
	var err error
	if w.pkg, err = conf.Check(path, fset, files, w.info); err != nil {
		return nil, fmt.Errorf("cannot check the types of %q: %w", path, err)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				w.vars(g)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			w.node(n)
			return true
		})
	}
	return w.found, nil
}

func (w *walker) say(n ast.Node, format string, args ...any) {
	w.found = append(w.found, fmt.Sprintf("%s: %s", w.fset.Position(n.Pos()), fmt.Sprintf(format, args...)))
}

func (w *walker) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.GoStmt:
		w.say(n, "starts a goroutine")
	case *ast.SelectStmt:
		w.say(n, "selects")
	case *ast.ChanType:
		w.say(n, "has a channel")
	case *ast.SendStmt:
		w.say(n, "sends")
	case *ast.RangeStmt:
		w.ranges(n)
	case *ast.Ident:
		w.use(n)
	case *ast.CallExpr:
		w.call(n)
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			w.change(to)
		}
	case *ast.IncDecStmt:
		w.change(n.X)
	case *ast.UnaryExpr:
		switch {
		case n.Op == token.ARROW:
			w.say(n, "receives")
		case n.Op == token.AND && w.global(n.X):
			w.say(n, "lends a package variable: whoever has its address can change it")
		}
	case *ast.SliceExpr:
		if !w.excused[n] && w.global(n.X) {
			w.say(n, "lends a package variable: whoever has a slice of it can change it; give slices.Clone of it")
		}
	}
}

// ranges looks at what is ranged over, also where its type is a parameter.
func (w *walker) ranges(n *ast.RangeStmt) {
	if n.Tok == token.ASSIGN {
		w.change(n.Key)
		w.change(n.Value)
	}
	over := []types.Type{w.info.TypeOf(n.X).Underlying()}
	if set, ok := over[0].(*types.Interface); ok {
		over = terms(set)
	}
	for _, typ := range over {
		switch typ.(type) {
		case *types.Map:
			w.say(n, "ranges over a map: its order is random")
		case *types.Chan:
			w.say(n, "ranges over a channel")
		}
	}
}

// terms gives the types under those that a constraint lets through.
func terms(set *types.Interface) []types.Type {
	var all []types.Type
	for embedded := range set.EmbeddedTypes() {
		switch typ := embedded.(type) {
		case *types.Union:
			for term := range typ.Terms() {
				all = append(all, term.Type().Underlying())
			}
		default:
			if inner, ok := typ.Underlying().(*types.Interface); ok {
				all = append(all, terms(inner)...)
			} else {
				all = append(all, typ.Underlying())
			}
		}
	}
	return all
}

// use looks at one use of a name.
func (w *walker) use(id *ast.Ident) {
	obj := w.info.Uses[id]
	if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() || w.excused[id] {
		return
	}
	switch {
	case obj.Pkg().Path() == "time" && slices.Contains(clock, obj.Name()):
		w.say(id, "goes by the clock with time.%s: the core is told the time", obj.Name())
	case obj.Pkg().Path() == "maps" && slices.Contains(unordered, obj.Name()):
		w.say(id, "maps.%s gives a random order: sort it with slices.Sorted", obj.Name())
	}
}

// call excuses the arguments of functions that are known to do no harm with them.
func (w *walker) call(n *ast.CallExpr) {
	called := w.name(n.Fun)
	for _, arg := range n.Args {
		if inner, ok := arg.(*ast.CallExpr); ok && called == "slices.Sorted" {
			if sel, ok := inner.Fun.(*ast.SelectorExpr); ok {
				w.excused[sel.Sel] = true
			}
		}
		if slice, ok := arg.(*ast.SliceExpr); ok && slices.Contains(readers, called) {
			w.excused[slice] = true
		}
	}
}

// name gives the name of a function of another package, as in "slices.Sorted".
func (w *walker) name(fun ast.Expr) string {
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		if obj := w.info.Uses[sel.Sel]; obj != nil && obj.Pkg() != nil {
			return obj.Pkg().Path() + "." + obj.Name()
		}
	}
	return ""
}

func (w *walker) change(to ast.Expr) {
	if to != nil && w.global(to) {
		w.say(to, "changes a package variable")
	}
}

// global reports whether an expression is a variable of the package, or a part of one.
func (w *walker) global(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		v, ok := w.info.Uses[e].(*types.Var)
		return ok && v.Parent() == w.pkg.Scope()
	case *ast.ParenExpr:
		return w.global(e.X)
	case *ast.IndexExpr:
		return w.global(e.X)
	case *ast.SelectorExpr:
		return w.global(e.X)
	case *ast.StarExpr:
		return w.global(e.X)
	}
	return false
}

// vars allows package variables that are tables or error values, and nothing else. A table is an array: a slice or a
// map can be changed through any copy of it.
func (w *walker) vars(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		for _, name := range spec.(*ast.ValueSpec).Names {
			typ := w.info.Defs[name].Type()
			_, table := typ.Underlying().(*types.Array)
			if name.Name != "_" && !table && typ.String() != "error" {
				w.say(name, "keeps state in a package variable: the core has none but arrays as tables, and errors")
			}
		}
	}
}
