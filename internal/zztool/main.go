// temporary
package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	cfg := &packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps}
	pkgs, err := packages.Load(cfg, "./internal/engine")
	if err != nil {
		panic(err)
	}
	p := pkgs[0]
	eng := p.Types.Scope().Lookup("Engine")
	_ = eng
	for _, f := range p.Syntax {
		file := filepath.Base(p.Fset.Position(f.Pos()).Filename)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			recv := ""
			if fn.Recv != nil {
				recv = types.ExprString(fn.Recv.List[0].Type) + "."
			}
			calls, fields := map[string]bool{}, map[string]bool{}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.SelectorExpr:
					sel := p.TypesInfo.Selections[x]
					if sel == nil {
						return true
					}
					o := sel.Obj()
					if o.Pkg() == nil || o.Pkg() != p.Types {
						return true
					}
					r := sel.Recv().String()
					r = r[strings.LastIndex(r, ".")+1:]
					if _, isF := o.(*types.Func); isF {
						calls[r+"."+o.Name()] = true
					} else {
						fields[r+"."+o.Name()] = true
					}
				case *ast.Ident:
					if o, ok := p.TypesInfo.Uses[x].(*types.Func); ok && o.Pkg() == p.Types && o.Type().(*types.Signature).Recv() == nil {
						calls[o.Name()] = true
					}
				}
				return true
			})
			fmt.Fprintf(os.Stdout, "%s\t%s%s\t%d\tC %s\tF %s\n", file, recv, fn.Name.Name, p.Fset.Position(fn.End()).Line-p.Fset.Position(fn.Pos()).Line+1, join(calls), join(fields))
		}
	}
}

func join(m map[string]bool) string {
	var s []string
	for k := range m {
		s = append(s, k)
	}
	sort.Strings(s)
	return strings.Join(s, " ")
}
