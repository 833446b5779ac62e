package page

import (
	"cmp"
	"context"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
)

// MaxPattern bounds a pattern's bytes, and maxPatternSteps its compiled steps, because a match takes time
// proportional to its steps times the bytes of a name.
const MaxPattern, maxPatternSteps = 1000, 5000

// pageQuestion is a query of a page.
type pageQuestion struct {
	page *page
	view source.View
	at   *source.At // for a query that requires one store
	of   url.Values // parameters
	base string     // URL of the server
	name string     // name of the history in the path

	last *int64 // time of the newest profile; nil until the first use
	err  error  // the first error of a parameter, which is checked before the parameters are used
}

// refuse keeps the first error of a parameter.
func (q *pageQuestion) refuse(err error) { q.err = cmp.Or(q.err, err) }

// pageSides is the choice of a page's query: profiles of one type, and in a difference also the profiles
// before.
type pageSides struct {
	typ     profile.Type
	queries []profile.Query // in a difference: before, after
	norm    bool
	rate    bool           // the sides are compared for equally long times
	spread  bool           // the answer says what is noise
	times   [2]sideTimes   // by side, with rate or spread
	search  *regexp.Regexp // nil: no search
	states  *pageStates    // choice by state; nil: none

	selectors []string     // selectors of the queries as the client wrote them
	found     source.Typed // the type, and where its profiles are
}

// sides parses the parameters of a query for stacks.
func (q *pageQuestion) sides(ctx context.Context) (p pageSides, err error) {
	main, typ := q.side(ctx, "")
	withShares := q.flag("shares")
	if q.err != nil {
		return p, q.err
	}
	if withShares || slices.ContainsFunc([]string{"h", "p", "state", "status", "attribute"}, q.of.Has) {
		if p.states, err = q.chosen(&main, withShares); err != nil {
			return p, err
		}
	}
	p.queries, p.selectors = []profile.Query{main}, []string{q.of.Get("q")}
	if q.of.Get("bq")+q.of.Get("bfrom")+q.of.Get("bto") != "" {
		base, _ := q.side(ctx, "b")
		base.Where, base.SumGauges = main.Where, main.SumGauges
		p.queries, p.selectors = []profile.Query{base, main}, []string{cmp.Or(q.of.Get("bq"), q.of.Get("q")), q.of.Get("q")}
	}
	p.norm, p.search = q.flag("norm"), q.pattern("s")
	if p.norm {
		q.refuse(q.view.Scales())
	}
	if p.rate, p.spread = q.flag("rate"), q.flag("spread"); p.spread {
		q.refuse(q.canSpread(&p))
	}
	if q.err != nil {
		return p, q.err
	}
	p.found, err = q.findType(ctx, main, typ)
	p.typ = p.found.Type
	return p, err
}

// findType returns the type called name. Without a name it is the default type for a query.
func (q *pageQuestion) findType(ctx context.Context, query profile.Query, name string) (t source.Typed, err error) {
	if name == "" {
		return q.view.DefaultType(ctx, query, "t")
	}
	if t, err = q.view.FindType(ctx, query, name); err != nil {
		err = fault.In("parameter t", err)
	}
	return t, err
}

// side returns the query and the type, in the form of FindType, of the side whose parameters have the given
// prefix. The side before takes its missing parameters from the side after. Conditions on frames have the
// same names as the command's flags.
func (q *pageQuestion) side(ctx context.Context, prefix string) (query profile.Query, typ string) {
	query.MaxBytes = q.page.Read.QueryBytes
	name, text := prefix+"q", q.of.Get(prefix+"q")
	if text == "" {
		name, text = "q", q.of.Get("q")
	}
	typ, err := question.Choose(&query, text, q.of, "t")
	if err != nil {
		q.refuse(fault.Invalid("parameter %s: %w", name, err))
	}
	query.SumGauges = q.flag("sum")
	for name, not := range map[string]bool{"focus": false, "ignore": true} {
		if pattern := q.pattern(name); pattern != nil {
			query.Frames = append(query.Frames, profile.FrameCondition{Name: pattern, Not: not})
		}
	}
	query.Hide, query.Show = q.pattern("hide"), q.pattern("show")
	query.From, query.To = q.bound(ctx, prefix, "from"), q.bound(ctx, prefix, "to")
	if query.To != 0 && query.To <= query.From {
		q.refuse(fault.Invalid("parameters %sfrom and %sto: there is no time between them", prefix, prefix))
	}
	return query, typ
}

// number returns a parameter that is a number from 0 to most, or `otherwise` if it is missing.
func (q *pageQuestion) number(name string, otherwise, most int) int {
	text := q.of.Get(name)
	if text == "" {
		return min(otherwise, most)
	}
	n, err := strconv.ParseUint(text, 10, 63)
	switch {
	case err != nil:
		q.refuse(fault.Invalid("parameter %s: want a number, not %s", name, fault.Quoted(text)))
		return 0
	case n > uint64(most):
		q.refuse(fault.TooCostly("%s of %d, at most %d", name, n, most))
		return 0
	}
	return int(n)
}

// nodes returns the number of functions of a tree that the query asks for, or the usual one.
func (q *pageQuestion) nodes() int {
	return q.number("max_nodes", question.UsualNodes, q.page.Read.MaxNodes)
}

// flag returns whether a parameter is 1. Values other than 0 and 1 are an error.
func (q *pageQuestion) flag(name string) bool {
	text := q.of.Get(name)
	if text != "" && text != "0" && text != "1" {
		q.refuse(fault.Invalid("parameter %s: want 1 or 0, not %s", name, fault.Quoted(text)))
	}
	return text == "1"
}

// pattern returns the regular expression in a parameter, or nil.
func (q *pageQuestion) pattern(name string) *regexp.Regexp {
	text := q.of.Get(name)
	if text == "" {
		return nil
	}
	pattern, err := compile(name, text)
	q.refuse(err)
	return pattern
}

// compile compiles the regular expression of a parameter.
func compile(name, text string) (*regexp.Regexp, error) {
	if len(text) > MaxPattern {
		return nil, fault.TooCostly("a pattern of %d bytes in parameter %s, at most %d", len(text), name, MaxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fault.Invalid("parameter %s: want a regular expression: %w", name, err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fault.Invalid("parameter %s: %w", name, err)
	}
	if steps := len(program.Inst); steps > maxPatternSteps {
		return nil, fault.TooCostly("a pattern of %d steps in parameter %s, at most %d", steps, name, maxPatternSteps)
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, fault.Invalid("parameter %s: %w", name, err)
	}
	return pattern, nil
}

// bound parses a time in the grammar of package timetext. After an error it does not look for the newest profile.
func (q *pageQuestion) bound(ctx context.Context, prefix, name string) int64 {
	text := cmp.Or(q.of.Get(prefix+name), q.of.Get(name))
	at, err := q.page.Read.Bound(prefix+name, text, func() (int64, error) {
		if q.err != nil {
			return 0, q.err
		}
		if q.last == nil {
			newest, err := q.view.Newest(ctx)
			if err != nil {
				return 0, err
			}
			q.last = &newest
		}
		return *q.last, nil
	})
	q.refuse(err)
	return at
}

// stacks returns the choice of a page's query, and the stacks of its sides.
func (q *pageQuestion) stacks(ctx context.Context) (p pageSides, all []*profile.Stacks, of Type, err error) {
	if p, err = q.sides(ctx); err != nil {
		return p, nil, of, err
	}
	ask := make([]source.Side, len(p.queries))
	for i, query := range p.queries {
		ask[i] = source.Side{Query: query, Name: q.of.Get("t"), Selector: p.selectors[i]}
	}
	err = q.view.Stacks(ctx, p.found, ask, func(found *source.Profiles) (err error) {
		all, of, err = q.merge(ctx, found, &p)
		return err
	})
	return p, all, of, err
}

// merge returns the stacks of the sides.
func (q *pageQuestion) merge(ctx context.Context, found *source.Profiles, p *pageSides) ([]*profile.Stacks, Type, error) {
	all := make([]*profile.Stacks, len(p.queries))
	chosen := &chosenStates{All: make([]int64, len(all)), Without: make([]int64, len(all))}
	for i, query := range found.Queries {
		var err error
		if p.states != nil {
			all[i], err = q.mergeState(ctx, p, i, chosen)
		} else {
			all[i], err = found.DB.Merge(ctx, found.Snap, p.typ, query)
		}
		if err != nil {
			return nil, Type{}, err
		}
	}
	if p.norm && len(all) > 1 {
		var err error
		if all[1], err = all[1].Normalize(all[0]); err != nil {
			return nil, Type{}, err
		}
	}
	of := newPageType(p.typ, p.queries[0], all)
	if len(all) > 1 && (p.rate || p.spread) {
		var err error
		if of, err = q.scaleRates(ctx, p, all); err != nil {
			return nil, Type{}, err
		}
	}
	if p.states != nil {
		var err error
		if chosen.Lengths, err = q.lengths(ctx, p.typ, p.queries[len(p.queries)-1], p.states); err != nil {
			return nil, Type{}, err
		}
		of.States = chosen
	}
	if p.search != nil {
		for _, s := range all {
			found, err := s.Search(ctx, p.search)
			if err != nil {
				return nil, Type{}, err
			}
			of.Found = append(of.Found, found.Total)
		}
	}
	return all, of, nil
}

// Type describes the type of an answer's values.
type Type struct {
	SampleType string `json:"sample_type"`
	Unit       string `json:"unit"`
	// Mean is true if values are means over the times of profiles, not sums.
	Mean bool `json:"mean"`
	// Total is the sum of all values for each side: before and after in a difference. Magnitude is the sum of
	// absolute values.
	Total     []int64 `json:"total"`
	Magnitude []int64 `json:"magnitude"`
	// Profiles is, with rate or spread, the number of distinct times of profiles of each side of a difference, and Covered the
	// nanoseconds that they stand for. Scaled is the factor that made the side before as long as the side after; 0 is none. On
	// a front they are missing, and values are totals.
	Profiles []int   `json:"profiles,omitempty"`
	Covered  []int64 `json:"covered,omitempty"`
	Scaled   float64 `json:"scaled,omitempty"`
	// Found is the Total of the stacks with a function that matches s.
	Found []int64 `json:"found,omitempty"`
	// States describes the choice by state, if there is one.
	States *chosenStates `json:"states,omitempty"`
}

func newPageType(t profile.Type, q profile.Query, sides []*profile.Stacks) (out Type) {
	out = Type{SampleType: t.Sample, Unit: t.SampleUnit, Mean: t.IsGauge() && !q.SumGauges}
	for _, s := range sides {
		out.Total, out.Magnitude = append(out.Total, s.Total), append(out.Magnitude, s.Magnitude)
	}
	return out
}
