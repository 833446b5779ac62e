package planted

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// chosenBug is the environment variable that chooses a bug in a binary with many. Without it the binary has
// none.
const chosenBug = "GRANARY_PLANTED_BUG"

// together is the sources of one binary with many bugs, because linking and compiling a suite takes longer
// than most searches. A function that bugs change is there once without them and once for each, and a
// function with its name calls the chosen variant.
type together struct {
	files map[string]*manyFile
}

// manyFile is a file with variants of its functions.
type manyFile struct {
	*parsedFile
	variants map[int][]variant // by index of the declaration
}

// variant is a function with a bug.
type variant struct {
	bug  string
	body string // from brace to brace
}

// parsedFile is a file's text and its syntax.
type parsedFile struct {
	text   string
	offset func(token.Pos) int
	*ast.File
}

func parseFile(lines []string) (*parsedFile, error) {
	text := strings.Join(lines, "\n") + "\n"
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &parsedFile{text, func(p token.Pos) int { return files.Position(p).Offset }, syntax}, nil
}

// source returns the text between two places.
func (f *parsedFile) source(from, to token.Pos) string { return f.text[f.offset(from):f.offset(to)] }

// add adds a bug, and reports whether it could: if the bug changes only function bodies. A body with a call
// of recover, which depends on its caller, is not taken.
func (g *together) add(name string, changes map[string]change) bool {
	found := map[string]map[int]variant{}
	for file, c := range changes {
		was, err := parseFile(c.lines)
		if err != nil {
			return false
		}
		is, err := parseFile(c.apply(c.lines))
		if err != nil || len(was.Decls) != len(is.Decls) {
			return false
		}
		if g.files[file] == nil {
			g.files[file] = &manyFile{was, map[int][]variant{}}
		}
		found[file] = map[int]variant{}
		for i, decl := range was.Decls {
			if was.source(decl.Pos(), decl.End()) == is.source(is.Decls[i].Pos(), is.Decls[i].End()) {
				continue
			}
			body, ok := changedBody(was, is, i)
			if !ok {
				return false
			}
			found[file][i] = variant{name, body}
		}
	}
	for file, of := range found {
		for i, v := range of {
			g.files[file].variants[i] = append(g.files[file].variants[i], v)
		}
	}
	return true
}

// changedBody returns a declaration's body if it is a function and nothing else in it has changed.
func changedBody(was, is *parsedFile, i int) (body string, ok bool) {
	old, ok := was.Decls[i].(*ast.FuncDecl)
	changed, ok2 := is.Decls[i].(*ast.FuncDecl)
	if !ok || !ok2 || old.Body == nil || changed.Body == nil || old.Name.Name == "init" {
		return "", false
	}
	if was.source(old.Pos(), old.Body.Pos()) != is.source(changed.Pos(), changed.Body.Pos()) {
		return "", false
	}
	for _, f := range []*ast.FuncDecl{old, changed} {
		recovers := false
		ast.Inspect(f.Body, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			recovers = recovers || ok && name.Name == "recover"
			return true
		})
		if recovers {
			return "", false
		}
	}
	return is.source(changed.Body.Pos(), changed.Body.End()), true
}

// texts returns the files with all bugs, and for each package a file with the chosen bug's name.
func (g *together) texts() map[string]string {
	texts := map[string]string{}
	for file, f := range g.files {
		texts[file] = f.withVariants()
		texts[path.Join(path.Dir(file), "planted_bug.go")] = fmt.Sprintf(
			"package %s\n\nimport \"os\"\n\nvar plantedBug = os.Getenv(%q)\n", f.Name.Name, chosenBug)
	}
	return texts
}

// withVariants returns the file's text with the variants of its functions.
func (f *manyFile) withVariants() string {
	var out strings.Builder
	done := 0
	for i, decl := range f.Decls {
		if len(f.variants[i]) == 0 {
			continue
		}
		fn := decl.(*ast.FuncDecl) // changedBody has checked it
		out.WriteString(f.text[done:f.offset(fn.Pos())])
		done = f.offset(fn.End())
		out.WriteString(f.dispatch(fn, f.variants[i]))
		out.WriteString("\n\n" + f.named(fn, variantName(fn, -1), f.source(fn.Body.Pos(), fn.Body.End())))
		for k, v := range f.variants[i] {
			out.WriteString("\n\n" + f.named(fn, variantName(fn, k), v.body))
		}
	}
	return out.String() + f.text[done:]
}

// variantName returns a variant's name, or for -1 the name of the function without bugs.
func variantName(fn *ast.FuncDecl, k int) string {
	return "planted" + strconv.Itoa(k+1) + "_" + fn.Name.Name
}

// named returns a function with another name and another body.
func (f *manyFile) named(fn *ast.FuncDecl, name, body string) string {
	return f.source(fn.Pos(), fn.Name.Pos()) + name + f.source(fn.Name.End(), fn.Body.Pos()) + body
}

// dispatch returns the function that calls the chosen bug's variant. It names its own parameters, because
// the function's may be blank.
func (f *manyFile) dispatch(fn *ast.FuncDecl, variants []variant) string {
	receiver, call := "", ""
	if fn.Recv != nil {
		receiver = "(receiver " + f.source(fn.Recv.List[0].Type.Pos(), fn.Recv.List[0].Type.End()) + ") "
		call = "receiver."
	}
	typeParams, typeArgs := "", ""
	if list := fn.Type.TypeParams; list != nil {
		typeParams = f.source(list.Pos(), list.End())
		var names []string
		for _, field := range list.List {
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
		typeArgs = "[" + strings.Join(names, ", ") + "]"
	}
	var params, args []string
	for _, field := range fn.Type.Params.List {
		for range max(1, len(field.Names)) {
			arg := fmt.Sprintf("param%d", len(args))
			params = append(params, arg+" "+f.source(field.Type.Pos(), field.Type.End()))
			if _, many := field.Type.(*ast.Ellipsis); many {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	results := ""
	if fn.Type.Results != nil {
		results = f.source(fn.Type.Results.Pos(), fn.Type.Results.End()) + " "
		call = "return " + call
	}
	var out strings.Builder
	fmt.Fprintf(&out, "func %s%s%s(%s) %s{\n\tswitch plantedBug {\n", receiver, fn.Name.Name, typeParams, strings.Join(params, ", "), results)
	for k, v := range variants {
		fmt.Fprintf(&out, "\tcase %q:\n\t\t%s%s%s(%s)\n", v.bug, call, variantName(fn, k), typeArgs, strings.Join(args, ", "))
	}
	fmt.Fprintf(&out, "\tdefault:\n\t\t%s%s%s(%s)\n\t}\n}", call, variantName(fn, -1), typeArgs, strings.Join(args, ", "))
	return out.String()
}
