package page

import (
	"cmp"
	"context"
	"slices"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/listing"
)

// SourceAnswer is the answer to GET /api/v1/lines: the lines of a function.
type SourceAnswer struct {
	Head
	Type
	// All is the number of lines of the function in the profiles.
	All int `json:"all"`
	// Lines are the lines with the greatest totals, in the order of their places.
	Lines []SourceLine `json:"lines"`
	// Texts are parts of the files of the lines, if the query asks for them.
	Texts []SourceText `json:"texts,omitempty"`
}

// SourceLine is a line with its cost for each side. Line is 0, and File empty, if they are not known.
type SourceLine struct {
	File  string  `json:"file"`
	Line  int64   `json:"line"`
	Self  []int64 `json:"self"`
	Total []int64 `json:"total"`
}

// SourceText is a part of a file.
type SourceText struct {
	File  string   `json:"file"`
	First int      `json:"first"` // number of the first line
	Lines []string `json:"lines,omitempty"`
	// Why says why there are no lines.
	Why string `json:"why,omitempty"`
}

// Bounds of texts.
const (
	mostTexts = 8 // files
	aroundIt  = 4 // lines before the first line with a cost, and after the last one
	maxLineNo = 1 << 30
)

// sourceOf answers GET /api/v1/lines.
func sourceOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	function, withTexts, most := q.of.Get("function"), q.flag("texts"), q.number("rows", listing.MaxLines, q.page.Read.MaxNodes)
	if function == "" {
		q.refuse(fault.Invalid("parameter function: want the name of a function"))
	}
	p, sides, of, err := q.stacks(ctx)
	if err != nil {
		return nil, err
	}
	costs, err := tree.Lines(ctx, function, q.page.Read.QueryBytes, sides...)
	if err != nil {
		return nil, err
	}
	out := &SourceAnswer{Type: of, All: len(costs), Lines: []SourceLine{}}
	for _, c := range largestLines(costs, most, len(sides)) {
		out.Lines = append(out.Lines, SourceLine{c.File, c.Line, c.Self[:len(sides):len(sides)], c.Total[:len(sides):len(sides)]})
	}
	if withTexts {
		out.Texts, err = q.texts(ctx, &p, out.Lines)
	}
	return out, err
}

// largestLines returns the `most` lines with the greatest totals, or changes, in their order.
func largestLines(costs []tree.LineCost, most, sides int) []tree.LineCost {
	if len(costs) <= most {
		return costs
	}
	order := make([]int, len(costs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(distance(costs[b].Total, sides), distance(costs[a].Total, sides))
	})
	order = order[:most]
	slices.Sort(order)
	out := make([]tree.LineCost, most)
	for i, at := range order {
		out[i] = costs[at]
	}
	return out
}

// texts returns the part of each file that has lines, with some lines around them.
func (q *pageQuestion) texts(ctx context.Context, p *pageSides, lines []SourceLine) (all []SourceText, err error) {
	version := ""
	if q.page.Text != nil {
		if version, err = q.version(ctx, p.queries[len(p.queries)-1]); err != nil {
			return nil, err
		}
	}
	for from := 0; from < len(lines) && len(all) < mostTexts; {
		to := from + 1
		for to < len(lines) && lines[to].File == lines[from].File {
			to++
		}
		file, first, last := lines[from].File, lines[from].Line, lines[to-1].Line
		if from = to; file == "" || last <= 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := SourceText{File: file, First: int(min(max(1, first-aroundIt), maxLineNo))}
		if q.page.Text == nil {
			t.Why = listing.ErrNoDir.Error()
		} else if t.Lines, err = q.page.Text(ctx, file, version, t.First, int(min(last, maxLineNo))+aroundIt); err != nil {
			t.Why = err.Error()
		} else if len(t.Lines) == 0 {
			t.Why = "the file is shorter: it is of another version"
		}
		all = append(all, t)
	}
	return all, nil
}

// versionLabel is the label with the version of a program.
const versionLabel = "version"

// version returns the version of the profiles of a query, or "" if they have none, or several.
func (q *pageQuestion) version(ctx context.Context, query profile.Query) (string, error) {
	sources, err := q.view.Sources(ctx, query)
	if err != nil {
		return "", err
	}
	version := ""
	for _, s := range sources {
		for _, l := range s.Labels {
			switch {
			case l.Name != versionLabel || l.Value == version:
			case version != "":
				return "", nil
			default:
				version = l.Value
			}
		}
	}
	return version, nil
}
