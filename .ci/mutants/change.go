package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a change to one place of the code.
type mutant struct {
	id     int
	at     token.Position
	change string
}

// changer adds mutants to files. A mutant is text before and behind a node, which stays as it is unless the mutant is
// active.
type changer struct {
	fset    *token.FileSet
	types   map[ast.Expr]types.TypeAndValue
	mutants []mutant
	without map[place]bool

	text       []byte // of the file
	file       *token.File
	insertions []insertion
}

// insertion is text that goes before an offset of the file.
type insertion struct {
	at, size int // of the node
	behind   bool
	id       int
	text     string
}

// compare orders insertions. At one offset the text behind a node comes first, and of one node the text of the first
// mutant is the outermost one.
func (a insertion) compare(b insertion) int {
	inner := b.size - a.size // below 0 if b is within a
	if inner == 0 {
		inner = a.id - b.id
	}
	switch {
	case a.at != b.at:
		return a.at - b.at
	case a.behind != b.behind:
		if a.behind {
			return -1
		}
		return 1
	case a.behind:
		return -inner
	}
	return inner
}

// change returns the text of a file with its mutants.
func (c *changer) change(f *ast.File, text []byte) []byte {
	c.text, c.file, c.insertions = text, c.fset.File(f.Pos()), nil
	c.walk(f)
	slices.SortFunc(c.insertions, insertion.compare)
	var out []byte
	at := 0
	for _, in := range c.insertions {
		out = append(append(out, text[at:in.at]...), in.text...)
		at = in.at
	}
	return append(out, text[at:]...)
}

func (c *changer) of(n ast.Node) string {
	return string(c.text[c.file.Offset(n.Pos()):c.file.Offset(n.End())])
}

// add adds a mutant of a node. before and behind can have # for its ID.
func (c *changer) add(n ast.Node, before, behind, change string) {
	at := c.fset.Position(n.Pos())
	if c.without[place{filepath.Base(at.Filename), at.Line}] {
		return
	}
	id, size := len(c.mutants)+1, int(n.End()-n.Pos())
	number := fmt.Sprint(id)
	c.insertions = append(c.insertions,
		insertion{at: c.file.Offset(n.Pos()), size: size, id: id, text: strings.Replace(before, "#", number, 1)},
		insertion{at: c.file.Offset(n.End()), size: size, id: id, behind: true, text: strings.Replace(behind, "#", number, 1)})
	c.mutants = append(c.mutants, mutant{id, at, strings.Join(strings.Fields(change), " ")})
}

func (c *changer) walk(f *ast.File) {
	var around []ast.Node
	var results []*ast.FieldList // of the functions around
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			switch around[len(around)-1].(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				results = results[:len(results)-1]
			}
			around = around[:len(around)-1]
			return true
		}
		var parent ast.Node
		if len(around) > 0 {
			parent = around[len(around)-1]
		}
		switch n := n.(type) {
		case *ast.GenDecl:
			return false // imports, types, constants, and variables that are mostly pools and errors
		case *ast.FuncDecl:
			results = append(results, n.Type.Results)
		case *ast.FuncLit:
			results = append(results, n.Type.Results)
		case *ast.ReturnStmt:
			c.returns(n, results[len(results)-1])
		case *ast.BinaryExpr:
			c.binary(n, parent)
		case *ast.IfStmt:
			c.negate(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil && c.isBool(n.Cond) {
				c.add(n.Cond, "((", ") && !mutantIs(#))", "no loop while "+c.of(n.Cond))
			}
		case ast.Stmt:
			c.remove(n, parent)
		}
		around = append(around, n)
		return true
	})
}

// isBool reports whether an expression has the type bool, and is no constant.
func (c *changer) isBool(e ast.Expr) bool {
	t, ok := c.types[e].Type.(*types.Basic)
	return ok && c.types[e].Value == nil && t.Info()&types.IsBoolean != 0
}

func (c *changer) negate(e ast.Expr) {
	if c.isBool(e) {
		c.add(e, "((", ") != mutantIs(#))", "!("+c.of(e)+")")
	}
}

// returns adds a mutant that returns zero values. If they are zero already, a bool becomes true.
func (c *changer) returns(n *ast.ReturnStmt, results *ast.FieldList) {
	if results == nil || len(n.Results) == 0 {
		return
	}
	zero := !slices.ContainsFunc(n.Results, func(e ast.Expr) bool {
		return !slices.Contains([]string{"nil", "0", "false", `""`}, c.of(e))
	})
	var values []string
	for _, f := range results.List {
		value := "*new(" + c.of(f.Type) + ")"
		if zero && c.of(f.Type) == "bool" {
			value = "true"
		}
		values = append(values, slices.Repeat([]string{value}, max(1, len(f.Names)))...)
	}
	if !zero || slices.Contains(values, "true") {
		text := "return " + strings.Join(values, ", ")
		c.add(n, "if mutantIs(#) { "+text+" }; ", "", text+", not "+strings.TrimPrefix(c.of(n), "return "))
	}
}

// remove adds a mutant without a statement of a block. A panic stays, because a function can end with it.
func (c *changer) remove(n ast.Stmt, parent ast.Node) {
	switch parent := parent.(type) {
	case *ast.BlockStmt, *ast.CaseClause:
	case *ast.CommClause:
		if parent.Comm == n {
			return
		}
	default:
		return
	}
	text := c.of(n)
	switch n := n.(type) {
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE || strings.HasPrefix(text, "_ =") {
			return
		}
	case *ast.BranchStmt:
		if n.Tok == token.FALLTHROUGH {
			return
		}
	default:
		return
	}
	if !strings.HasPrefix(text, "panic(") {
		c.add(n, "if !mutantIs(#) { ", " }", "without "+text)
	}
}

// others are the operators that take the place of an operator, and cannot divide by zero.
var others = map[token.Token]string{
	token.ADD: "-", token.SUB: "+", token.MUL: "+", token.QUO: "*", token.REM: "*",
	token.SHL: ">>", token.SHR: "<<", token.AND: "|", token.OR: "&", token.XOR: "&", token.AND_NOT: "&",
}

// binary adds mutants of a binary expression: the other way at the boundary of a comparison, negated, without an
// operand, or with another operator.
func (c *changer) binary(n *ast.BinaryExpr, parent ast.Node) {
	if c.types[n].Value != nil {
		return
	}
	x, y := c.of(n.X), c.of(n.Y)
	switch n.Op {
	case token.LSS, token.GTR:
		c.add(n, "(", " || mutantIs(#) && ("+x+") == ("+y+"))", x+" "+n.Op.String()+"= "+y)
	case token.LEQ, token.GEQ:
		c.add(n, "(", " && !(mutantIs(#) && ("+x+") == ("+y+")))", x+" "+n.Op.String()[:1]+" "+y)
	case token.EQL, token.NEQ:
		if in, ok := parent.(*ast.IfStmt); !ok || in.Cond != n { // negated there
			c.negate(n)
		}
	case token.LAND:
		c.add(n.X, "(mutantIs(#) || ", ")", "true && "+y)
		c.add(n.Y, "(mutantIs(#) || ", ")", x+" && true")
	case token.LOR:
		c.add(n.X, "(!mutantIs(#) && (", "))", "false || "+y)
		c.add(n.Y, "(!mutantIs(#) && (", "))", x+" || false")
	default:
		other, ok := others[n.Op]
		t, basic := c.types[n].Type.Underlying().(*types.Basic)
		shiftsConstant := bytes.ContainsAny([]byte(n.Op.String()), "<>") && c.types[n.X].Value != nil
		if ok && basic && t.Info()&types.IsString == 0 && !shiftsConstant && !c.calls(n) {
			c.add(n, "mutantPick(#, ", ", ("+x+") "+other+" ("+y+"))", x+" "+other+" "+y)
		}
	}
}

// calls reports whether an expression calls a function: both sides of a pick are computed.
func (c *changer) calls(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !c.types[call.Fun].IsType() && !c.types[call.Fun].IsBuiltin() {
			found = true
		}
		return !found
	})
	return found
}
