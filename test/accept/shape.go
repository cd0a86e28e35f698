package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const engine = "internal/engine"

// deciding are the packages of what decides, from what is durable to what is done; the engine is the last.
var deciding = []string{
	"internal/ledger", "internal/belief", "internal/want", "internal/permit", "internal/foresight", "internal/effect",
	"internal/work", engine,
}

// atMost makes a figure of a number with a name that must not be above a limit.
func atMost(count func() (int, string, error), most int) func() (string, bool, error) {
	return func() (string, bool, error) {
		n, of, err := count()
		return strings.TrimSpace(fmt.Sprintf("%d %s", n, of)), n <= most, err
	}
}

func sources(pkgs ...string) ([]string, error) {
	var list []string
	if len(pkgs) == 0 {
		return nil, errors.New("no packages: run it from the root of the repository")
	}
	for _, pkg := range pkgs {
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no source in %s: run it from the root of the repository", pkg)
		}
		list = append(list, slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })...)
	}
	return list, nil
}

func linesOf(pkg string) (n int, err error) {
	files, err := sources(pkg)
	for _, f := range files {
		src, readErr := os.ReadFile(filepath.Clean(f))
		if readErr != nil {
			return 0, readErr
		}
		n += strings.Count(string(src), "\n")
	}
	return n, err
}

func linesOfEngine() (n int, of string, err error) {
	n, err = linesOf(engine)
	return n, "", err
}

// linesOfLargest is the largest of all that decide, so that nothing is made small by making another large.
func linesOfLargest() (most int, of string, err error) {
	for _, pkg := range deciding {
		n, err := linesOf(pkg)
		if err != nil {
			return 0, "", err
		}
		if n > most {
			most, of = n, filepath.Base(pkg)
		}
	}
	return most, of, nil
}

// measure is what of a piece of code is counted, and what it is called; -1: it is none of its kind.
type measure func(fset *token.FileSet, n ast.Node) (count int, name string)

// shapes gives the largest of something in packages.
func shapes(pkgs []string, m measure) func() (int, string, error) {
	return func() (most int, of string, err error) {
		err = inspect(pkgs, m, func(count int, name string) {
			if count > most {
				most, of = count, name
			}
		})
		return most, of, err
	}
}

// total adds something up over packages, and names the last that has any.
func total(pkgs []string, m measure) func() (int, string, error) {
	return func() (sum int, last string, err error) {
		err = inspect(pkgs, m, func(count int, name string) {
			if count > 0 {
				sum, last = sum+count, name
			}
		})
		return sum, last, err
	}
}

// inspect measures everything in packages.
func inspect(pkgs []string, m measure, take func(count int, name string)) error {
	files, err := sources(pkgs...)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	for _, f := range files {
		parsed, err := parser.ParseFile(fset, f, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			take(m(fset, n))
			return true
		})
	}
	return nil
}

func structOf(n ast.Node) (*ast.StructType, string) {
	spec, ok := n.(*ast.TypeSpec)
	if !ok {
		return nil, ""
	}
	st, _ := spec.Type.(*ast.StructType)
	return st, spec.Name.Name
}

func countFields(st *ast.StructType, is func(ast.Expr) bool) int {
	n := 0
	for _, f := range st.Fields.List {
		if is(f.Type) {
			n += max(1, len(f.Names))
		}
	}
	return n
}

func mostFields(_ *token.FileSet, n ast.Node) (int, string) {
	st, name := structOf(n)
	if st == nil {
		return -1, ""
	}
	return countFields(st, func(ast.Expr) bool { return true }), name
}

func mostBools(_ *token.FileSet, n ast.Node) (int, string) {
	st, name := structOf(n)
	if st == nil {
		return -1, ""
	}
	return countFields(st, func(t ast.Expr) bool { id, ok := t.(*ast.Ident); return ok && id.Name == "bool" }), name
}

func longest(fset *token.FileSet, n ast.Node) (int, string) {
	f, ok := n.(*ast.FuncDecl)
	if !ok {
		return -1, ""
	}
	return fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1, f.Name.Name
}

// mostBranches is McCabe's number: one, and one for each branch, case and operator that decides.
func mostBranches(_ *token.FileSet, n ast.Node) (int, string) {
	f, ok := n.(*ast.FuncDecl)
	if !ok || f.Body == nil {
		return -1, ""
	}
	count := 1
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			count++
		case *ast.CaseClause:
			if n.List != nil {
				count++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				count++
			}
		}
		return true
	})
	return count, f.Name.Name
}
