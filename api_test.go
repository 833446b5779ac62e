package granary

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files of testdata/api anew")

// publicPackages are the folders of the packages that docs/compatibility.md promises something
// about. Each has a golden file in testdata/api, so that a review shows every change of the API.
var publicPackages = []string{
	"columnstore", "schema",
	"profile", "profile/pprof", "profile/tree",
	"history", "history/file", "history/summary", "history/partial", "history/partial/partialfile", "history/union",
	"render", "export", "trace",
	"server",
}

// TestAPI holds the exported names of each public package to its golden file.
//
//	go test . -run TestAPI -update
func TestAPI(t *testing.T) {
	golden := map[string]bool{}
	for _, dir := range publicPackages {
		name := filepath.Join("testdata", "api", strings.ReplaceAll(dir, "/", "-")+".txt")
		golden[name] = true
		got := apiListing(t, dir)
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if strings.Count(got, "\n") < 4 {
			t.Errorf("%s exports %q: the listing must be wrong", dir, got)
		}
		want := readFile(t, name)
		if got == want {
			continue
		}
		was, is := strings.Split(want, "\n"), strings.Split(got, "\n")
		for _, line := range was {
			if !slices.Contains(is, line) {
				t.Errorf("%s: gone or changed: %s", dir, line)
			}
		}
		for _, line := range is {
			if !slices.Contains(was, line) {
				t.Errorf("%s: new: %s", dir, line)
			}
		}
		t.Errorf("%s is not the API of %s; docs/compatibility.md says what may change; then: go test . -run TestAPI -update", name, dir)
	}
	names, err := filepath.Glob("testdata/api/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !golden[name] {
			t.Errorf("%s is of no public package: remove it", name)
		}
	}
}

// TestCompatibilityNamesPackages holds the table of docs/compatibility.md to publicPackages.
func TestCompatibilityNamesPackages(t *testing.T) {
	page := readFile(t, "docs/compatibility.md")
	for _, dir := range publicPackages {
		if !strings.Contains(page, "`"+dir+"`") {
			t.Errorf("docs/compatibility.md does not name the package `%s`", dir)
		}
	}
}

// apiOf is the API of a package that is being listed. Source is parsed and not type-checked: the
// server, which is another module, is listed in the same way, and no dependency is compiled.
type apiOf struct {
	t     *testing.T
	dir   string
	files *token.FileSet
	syn   []*ast.File
	lines []string
}

// apiListing returns one line for each exported constant, variable, function, type, method and
// field of the package in dir, sorted. A type that is an alias of a type in another package of
// the project is listed with the fields and methods of that type, because users have them.
func apiListing(t *testing.T, dir string) string {
	t.Helper()
	a := parseAPI(t, dir)
	for _, f := range a.syn {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				a.function(d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					a.spec(f, d.Tok, spec)
				}
			}
		}
	}
	slices.Sort(a.lines)
	return strings.Join(slices.Compact(a.lines), "\n") + "\n"
}

func parseAPI(t *testing.T, dir string) *apiOf {
	t.Helper()
	a := &apiOf{t: t, dir: dir, files: token.NewFileSet()}
	names, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(a.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name.Name != "main" {
			a.syn = append(a.syn, f)
		}
	}
	if len(a.syn) == 0 {
		t.Fatalf("%s has no package", dir)
	}
	return a
}

// text returns source of a node in one line.
func (a *apiOf) text(node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, a.files, node); err != nil {
		a.t.Fatal(err)
	}
	return flat(b.String())
}

func (a *apiOf) add(parts ...string) { a.lines = append(a.lines, strings.Join(parts, " ")) }

func (a *apiOf) function(d *ast.FuncDecl) {
	switch signature := strings.TrimPrefix(a.text(d.Type), "func"); {
	case !d.Name.IsExported():
	case d.Recv == nil:
		a.add("func", d.Name.Name+signature)
	case isExportedType(d.Recv.List[0].Type):
		a.add("method", "("+a.text(d.Recv.List[0].Type)+")", d.Name.Name+signature)
	}
}

func (a *apiOf) spec(f *ast.File, token token.Token, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			a.typeSpec(f, spec)
		}
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			if !name.IsExported() {
				continue
			}
			line := token.String() + " " + name.Name
			if spec.Type != nil {
				line += " " + a.text(spec.Type)
			}
			if i < len(spec.Values) {
				if s, ok := spec.Values[i].(*ast.SelectorExpr); ok {
					line += " = " + a.text(s)
				}
			}
			a.add(line)
		}
	}
}

func (a *apiOf) typeSpec(f *ast.File, spec *ast.TypeSpec) {
	name := "type " + spec.Name.Name
	if spec.TypeParams != nil {
		name += "[" + a.fieldList(spec.TypeParams) + "]"
	}
	if spec.Assign.IsValid() {
		a.add(name, "=", a.text(spec.Type))
		a.alias(f, spec)
		return
	}
	switch of := spec.Type.(type) {
	case *ast.StructType:
		a.add(name, "struct")
		a.fields(name+" struct,", of.Fields)
	case *ast.InterfaceType:
		a.add(name, "interface")
		a.fields(name+" interface,", of.Methods)
	default:
		a.add(name, a.text(of))
	}
}

func (a *apiOf) fieldList(list *ast.FieldList) string {
	var parts []string
	for _, f := range list.List {
		for _, n := range f.Names {
			parts = append(parts, n.Name+" "+a.text(f.Type))
		}
	}
	return strings.Join(parts, ", ")
}

// fields adds a line for each exported field of a struct or method of an interface.
func (a *apiOf) fields(of string, list *ast.FieldList) {
	for _, field := range list.List {
		if len(field.Names) == 0 {
			a.add(of, "embedded", a.text(field.Type))
		}
		for _, n := range field.Names {
			switch {
			case !n.IsExported() && strings.HasSuffix(of, " interface,"):
				a.add(of, "unexported methods")
			case !n.IsExported():
			default:
				if m, ok := field.Type.(*ast.FuncType); ok && strings.HasSuffix(of, " interface,") {
					a.add(of, n.Name+strings.TrimPrefix(a.text(m), "func"))
				} else {
					a.add(of, n.Name, a.text(field.Type))
				}
			}
		}
	}
}

// alias adds the fields and methods of the type that spec is an alias of, under the alias's name.
func (a *apiOf) alias(f *ast.File, spec *ast.TypeSpec) {
	s, ok := spec.Type.(*ast.SelectorExpr)
	if !ok {
		return
	}
	dir, ok := strings.CutPrefix(importOf(f, s.X.(*ast.Ident).Name), module+"/")
	if !ok {
		return
	}
	target, found := apiListing(a.t, dir), false
	for line := range strings.Lines(target) {
		line = strings.TrimSuffix(line, "\n")
		for _, form := range []string{"type NAME struct,", "type NAME interface,", "type NAME = ", "type NAME ", "method (NAME) ", "method (*NAME) "} {
			if rest, ok := strings.CutPrefix(line, strings.ReplaceAll(form, "NAME", s.Sel.Name)); ok {
				found = true
				a.add(strings.ReplaceAll(form, "NAME", spec.Name.Name) + rest)
				break
			}
		}
	}
	if !found {
		a.t.Errorf("%s is an alias of %s, which %s does not have", spec.Name.Name, s.Sel.Name, dir)
	}
}

// importOf returns the path of the import that a file knows by name.
func importOf(f *ast.File, name string) string {
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		known := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			known = i.Name.Name
		}
		if known == name {
			return path
		}
	}
	return ""
}

// isExportedType reports whether a receiver is of an exported type.
func isExportedType(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return isExportedType(e.X)
	case *ast.IndexExpr:
		return isExportedType(e.X)
	case *ast.Ident:
		return e.IsExported()
	}
	return false
}
