package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// ofTheHouse are the figures of the program as a whole: what a newcomer reads, and what a machine has to carry.
func ofTheHouse() []figure {
	return []figure{
		{"cyclomatic complexity of any function, at most", "<= 20", atMost(shapes(everything(), mostBranches), 20)},
		{"source files of any package, at most", "<= 40", atMost(mostFiles, 40)},
		{"interfaces of the adapters' port", "<= 7", atMost(total([]string{"internal/adapter"}, interfaces), 7)},
		{"exported names without a comment", "0", atMost(total(everything(), bare), 0)},
		{"the program for servers", "<= 45 MB", size},
		{"memory of the idle daemon, 10 supplies", "<= 32 MiB", measured("^TestIdle$", "daemon_idle_10_supplies_rss", 32)},
		{"memory in an outage of 1,000 VMs, at most", "<= 96 MiB", measured("^TestRoomOf1000VMs$", "load_room_peak_rss", 96)},
	}
}

// everything is each package of the program.
func everything() (pkgs []string) {
	_ = filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error { // none is an error of sources
		if found, _ := filepath.Glob(path + "/*.go"); err == nil && d.IsDir() && len(found) > 0 {
			pkgs = append(pkgs, path)
		}
		return err
	})
	return pkgs
}

func mostFiles() (most int, of string, err error) {
	pkgs := everything()
	if _, err := sources(pkgs...); err != nil {
		return 0, "", err
	}
	for _, pkg := range pkgs {
		files, err := sources(pkg)
		if err != nil {
			return 0, "", err
		}
		if len(files) > most {
			most, of = len(files), pkg
		}
	}
	return most, of, nil
}

// interfaces counts those of a file.
func interfaces(_ *token.FileSet, n ast.Node) (int, string) {
	f, ok := n.(*ast.File)
	if !ok {
		return -1, ""
	}
	count := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if _, ok := spec.Type.(*ast.InterfaceType); ok {
				count++
			}
		}
		return true
	})
	return count, f.Name.Name
}

// said are the methods whose meaning the standard library gives.
var said = []string{"String", "Error", "Unwrap", "Write"}

// bare counts the exported functions, methods and types of a file that have no comment, and names one.
func bare(_ *token.FileSet, n ast.Node) (count int, name string) {
	f, ok := n.(*ast.File)
	if !ok {
		return -1, ""
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && !isSaid(d) {
				count, name = count+1, d.Name.Name
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					count, name = count+1, s.Name.Name
				}
			}
		}
	}
	return count, name
}

// isSaid reports whether a method is one that the standard library explains, or one of a type that is not exported.
func isSaid(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	of := d.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.Ident:
			return !t.IsExported() || slices.Contains(said, d.Name.Name)
		default:
			return false
		}
	}
}

func size() (string, bool, error) {
	dir, err := os.MkdirTemp("", "ebbtide")
	if err != nil {
		return "", false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.CommandContext(context.Background(), "make", "build", "BIN="+dir)
	if out, err := build.CombinedOutput(); err != nil {
		return "", false, fmt.Errorf("cannot build it: %w: %s", err, out)
	}
	info, err := os.Stat(filepath.Join(dir, "ebbtide"))
	if err != nil {
		return "", false, err
	}
	mb := float64(info.Size()) / 1e6
	return fmt.Sprintf("%.1f MB", mb), mb <= 45, nil
}

// measured is a figure in MiB that a benchmark prints.
func measured(test, name string, most float64) func() (string, bool, error) {
	return func() (string, bool, error) {
		out, err := run("./test/bench", test, "-figures")
		if err != nil {
			return "", false, err
		}
		mib, err := readFigure(out, name)
		return fmt.Sprintf("%.1f MiB", mib), mib <= most, err
	}
}
