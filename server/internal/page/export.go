package page

import (
	"context"
	"encoding/csv"
	"io"
	"net/http"
	"regexp"
	"strconv"

	"github.com/granarydb/granary/internal/stackfile"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/render"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// exported is a file for other programs: the answer to GET /api/v1/export.
type exported struct {
	Head
	whole      *web.Whole
	kind, name string // media type, and name of the file
}

// send sends the file. A browser saves it, and never opens it beside the page.
func (e *exported) send(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", e.kind)
	h.Set("Content-Disposition", `attachment; filename="`+e.name+`"`)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	e.whole.Send(w)
}

// exportKind is a kind of file.
type exportKind struct {
	media, suffix string
	write         func(context.Context, *pageQuestion, io.Writer) (profile.Type, error)
}

// exportKinds are the kinds by the parameter as.
var exportKinds = map[string]exportKind{
	"svg":        {"image/svg+xml", ".svg", drawn(tree.FromRoot, "Flame graph")},
	"callers":    {"image/svg+xml", "-callers.svg", drawn(tree.Callers, "Callers")},
	"callees":    {"image/svg+xml", "-callees.svg", drawn(tree.Callees, "Callees")},
	"folded":     {"text/plain; charset=utf-8", ".folded", folded},
	"speedscope": {"application/json", ".speedscope.json", speedscope},
	"csv":        {"text/csv; charset=utf-8", ".csv", table},
}

// exportOf answers GET /api/v1/export: what flame and top answer, as a file.
func exportOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	as, ok := exportKinds[q.of.Get("as")]
	if !ok {
		return nil, fault.Invalid("parameter as: want svg, callers, callees, folded, speedscope or csv, not %s", fault.Quoted(q.of.Get("as")))
	}
	whole := web.NewWhole(ctx, q.page.ResultBytes)
	of, err := as.write(ctx, q, whole)
	if err != nil {
		return nil, err
	}
	return &exported{whole: whole, kind: as.media, name: unsafeInFile.ReplaceAllString(of.Sample, "_") + as.suffix}, nil
}

// unsafeInFile matches what is left out of the name of a file.
var unsafeInFile = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// drawn returns the writer of a flame graph in a direction: of a function, or inverted, if the query says so.
func drawn(direction tree.Direction, title string) func(context.Context, *pageQuestion, io.Writer) (profile.Type, error) {
	return func(ctx context.Context, q *pageQuestion, w io.Writer) (profile.Type, error) {
		most, function, isInverted := q.nodes(), q.of.Get("function"), q.flag("inv")
		direction, title := direction, title
		switch isSandwich := direction != tree.FromRoot; {
		case isSandwich != (function != ""):
			q.refuse(fault.Invalid("parameter function: as=callers and as=callees need one, and others have none"))
		case isSandwich && isInverted:
			q.refuse(fault.Invalid("parameters inv and function: choose one"))
		case isSandwich:
			title += " of " + stackfile.Printable(function)
		case isInverted:
			direction = tree.FromLeaf
		}
		p, sides, of, err := q.stacks(ctx)
		if err != nil {
			return p.typ, err
		}
		calls := tree.New(direction, function, q.page.Read.QueryBytes)
		if err := addSides(ctx, calls, read(tree.Lens{}, sides)); err != nil {
			return p.typ, err
		}
		nodes := calls.Nodes(max(most, 1))
		opts := render.FlameOptions{Title: title + ": " + stackfile.Printable(of.SampleType), SampleType: of.SampleType, Unit: of.Unit}
		root := nodes.FlameGraph(len(sides) - 1)
		if len(sides) > 1 {
			opts.Base = nodes.FlameGraph(0)
		}
		return p.typ, render.FlameGraph(w, root, opts)
	}
}

// folded writes folded stacks.
func folded(ctx context.Context, q *pageQuestion, w io.Writer) (profile.Type, error) {
	p, sides, _, err := q.stacks(ctx)
	if err != nil {
		return p.typ, err
	}
	return p.typ, stackfile.WriteFolded(ctx, w, q.page.Read.QueryBytes, sides...)
}

// speedscope writes a file of speedscope, with a profile for each side.
func speedscope(ctx context.Context, q *pageQuestion, w io.Writer) (profile.Type, error) {
	p, sides, _, err := q.stacks(ctx)
	if err != nil {
		return p.typ, err
	}
	name := func(side int, t profile.Type) string {
		if len(sides) < 2 {
			return stackfile.Printable(t.Sample)
		}
		return stackfile.Printable(t.Sample) + []string{", before", ", after"}[side]
	}
	return p.typ, stackfile.WriteSpeedscope(ctx, w, q.page.Read.QueryBytes, sides, len(sides)-1, name)
}

// table writes the table of functions as CSV, with columns for each side. Without rows it has as many as an answer may have.
func table(ctx context.Context, q *pageQuestion, w io.Writer) (profile.Type, error) {
	if !q.of.Has("rows") {
		q.of.Set("rows", strconv.Itoa(q.page.Read.MaxNodes))
	}
	answer, err := topOf(ctx, q)
	if err != nil {
		return profile.Type{}, err
	}
	top := answer.(*TopAnswer) //nolint:forcetypeassert // topOf returns no other
	out := csv.NewWriter(w)
	head := []string{"function", "file", "line", "flat", "cum"}
	if len(top.Total) > 1 {
		head = []string{"function", "file", "line", "flat_before", "flat_after", "cum_before", "cum_after"}
	}
	if err := out.Write(head); err != nil {
		return profile.Type{}, err
	}
	for _, f := range top.Functions {
		row := []string{cell(f.Name), cell(f.File), strconv.FormatInt(f.Line, 10)}
		for _, values := range [][]int64{f.Flat, f.Cum} {
			for _, v := range values {
				row = append(row, strconv.FormatInt(v, 10))
			}
		}
		if err := out.Write(row); err != nil {
			return profile.Type{}, err
		}
	}
	out.Flush()
	return profile.Type{Sample: top.SampleType}, out.Error()
}

// cell returns a text that a spreadsheet takes for no formula, because names come from others.
func cell(text string) string {
	text = stackfile.Printable(text)
	if text != "" && (text[0] == '=' || text[0] == '+' || text[0] == '-' || text[0] == '@') {
		return "'" + text
	}
	return text
}
