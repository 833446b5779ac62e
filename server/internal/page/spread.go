package page

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/granarydb/granary/internal/change"
	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
)

// mostParts bounds the parts of a side, each of which costs a merge of its profiles. More, and shorter, ones are closer to
// dependent on each other, so that their spread is less than the noise between ranges of time.
const mostParts = 16

// spread has the values of functions in the parts of each side: rates, or shares if the sides are scaled to one total, or the
// means of gauges.
type spread struct {
	parts     [2]int
	functions map[string]*functionSpread
	total     [2][]float64
}

// functionSpread has a function's values by side and part.
type functionSpread struct{ flat, cum [2][]float64 }

// newSpread divides each side into parts with equally many times of profiles, and adds up the functions of each.
func newSpread(ctx context.Context, found *source.Profiles, p *pageSides, most int64) (*spread, error) {
	s := &spread{functions: map[string]*functionSpread{}}
	for side := range found.Queries {
		times := &p.times[side]
		n := min(mostParts, len(times.starts))
		s.parts[side], s.total[side] = n, make([]float64, n)
		for part := range n {
			q, length := found.Queries[side], 1.0
			first := times.starts[part*len(times.starts)/n]
			if part > 0 {
				q.From = first
			}
			end := times.starts[0] + times.length
			if part+1 < n {
				end = times.starts[(part+1)*len(times.starts)/n]
				q.To = end
			}
			if !p.typ.IsGauge() || q.SumGauges {
				length = float64(end - first)
			}
			stacks, err := found.DB.Merge(ctx, found.Snap, p.typ, q)
			if err != nil {
				return nil, err
			}
			if p.norm {
				length = float64(stacks.Total)
			}
			if err := s.add(ctx, side, part, stacks, length, most); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// add adds a part of a side, whose values are divided by its length.
func (s *spread) add(ctx context.Context, side, part int, stacks *profile.Stacks, length float64, most int64) error {
	const function = 4*8*mostParts + 150 // bytes of its values, its name and their place in a map
	if length == 0 {
		return nil
	}
	costs, err := tree.Top(ctx, most, stacks)
	if err != nil {
		return err
	}
	s.total[side][part] = float64(stacks.Total) / length
	for i := range costs {
		f := s.functions[costs[i].Function]
		if f == nil {
			if f = new(functionSpread); int64(len(s.functions)+1)*function > most {
				return fault.TooCostly("the memory of a query, at most %d bytes: the spread of more than %d functions", most, len(s.functions))
			}
			for k := range s.parts {
				f.flat[k], f.cum[k] = make([]float64, mostParts), make([]float64, mostParts)
			}
			s.functions[costs[i].Function] = f
		}
		f.flat[side][part], f.cum[side][part] = float64(costs[i].Flat[0])/length, float64(costs[i].Cum[0])/length
	}
	return nil
}

// p returns the probabilities of a function's changes by noise alone (change.P).
func (s *spread) p(name string) (flat, cum float64) {
	f := s.functions[name]
	if f == nil {
		return math.NaN(), math.NaN()
	}
	a, b := s.parts[0], s.parts[1]
	return change.P(f.flat[0][:a], f.flat[1][:b]), change.P(f.cum[0][:a], f.cum[1][:b])
}

// canSpread returns an error for a question without a spread. A choice by state would be merged once more for each part.
func (q *pageQuestion) canSpread(p *pageSides) error {
	switch _, err := q.view.Store(source.Times); {
	case err != nil:
		return err
	case len(p.queries) < 2:
		return fault.Invalid("parameter spread: there is no side before: ask with bq, bfrom or bto")
	case p.states != nil:
		return fault.Invalid("parameter spread: not with a choice by state: ask without h, p, state, status and attribute")
	}
	return nil
}

// spread finds what of a difference is noise, and tells of it.
func (q *pageQuestion) spread(ctx context.Context, p *pageSides, of *Type, costs []tree.Cost) (*spread, string, error) {
	at, err := q.view.Store(source.Times)
	if err != nil {
		return nil, "", err
	}
	found := at.Profiles(p.queries...)
	s, err := newSpread(ctx, found, p, q.page.Read.QueryBytes)
	if err != nil {
		return nil, "", err
	}
	after, before := sideNames(p.selectors[1], p.selectors[0])
	d := change.Difference{
		Subject: after, Before: before, Type: of.SampleType, Scaled: p.norm, Total: [2]int64{of.Total[0], of.Total[1]},
		P: change.P(s.total[0], s.total[1]), Profiles: [2]bool{len(p.times[0].starts) > 0, len(p.times[1].starts) > 0},
	}
	for i := range costs {
		c := &costs[i]
		flat, cum := s.p(c.Function)
		d.Functions = append(d.Functions, change.Changed{Name: c.Function, Flat: c.Flat, Cum: c.Cum, FlatP: flat, CumP: cum})
	}
	return s, d.Sentence(), nil
}

// subjects are the labels whose value names what a sentence is about, the first that a selector chooses.
var subjects = []string{"service_name", "service", "job", "app", "application", "namespace"}

// sideNames returns what the sides of a difference are of. before is "" if both are of the same, at two times. Otherwise the names have
// what only one side chooses, as "search version 2" and "version 1".
func sideNames(textAfter, textBefore string) (after, before string) {
	a, _ := selector.Parse(textAfter) // {} is "", which is an error and has no matchers: other texts were parsed before
	b, _ := selector.Parse(textBefore)
	subject, own, other := subject(a), onlyIn(a, b), onlyIn(b, a)
	if len(own)+len(other) == 0 {
		return subject, ""
	}
	if subject != "" && !slices.Contains(own, subject) {
		own = slices.Insert(own, 0, subject)
	}
	if len(other) == 0 {
		other = []string{"all"}
	}
	return strings.Join(own, " "), strings.Join(other, " ")
}

// subject returns the value of the first label in subjects that a selector chooses, or "".
func subject(matchers []selector.Matcher) string {
	for _, name := range subjects {
		for _, m := range matchers {
			if m.Name == name && m.Op == selector.OpEqual && m.Value != "" {
				return m.Value
			}
		}
	}
	return ""
}

// onlyIn returns the matchers that others lack, as people say them.
func onlyIn(matchers, others []selector.Matcher) (out []string) {
	for _, m := range matchers {
		isSame := func(o selector.Matcher) bool { return o.Name == m.Name && o.Op == m.Op && o.Value == m.Value }
		if !slices.ContainsFunc(others, isSame) {
			out = append(out, spoken(m))
		}
	}
	return out
}

// mostSpoken bounds the bytes of a value in a sentence.
const mostSpoken = 80

func spoken(m selector.Matcher) string {
	value := m.Value
	if len(value) > mostSpoken {
		value = strings.ToValidUTF8(value[:mostSpoken], "") + "…"
	}
	switch isSubject := slices.Contains(subjects, m.Name); {
	case m.Op != selector.OpEqual:
		return m.Name + m.Op.String() + strconv.Quote(value)
	case value == "":
		return "without " + m.Name
	case isSubject:
		return value
	}
	return m.Name + " " + value
}

// probabilities returns values of P for an answer: two significant digits, or nothing if one is not known.
func probabilities(flat, cum float64) []float64 {
	if math.IsNaN(flat) || math.IsNaN(cum) {
		return nil
	}
	return []float64{rounded(flat), rounded(cum)}
}

func rounded(p float64) float64 {
	const digits = 2
	r, err := strconv.ParseFloat(strconv.FormatFloat(p, 'g', digits, 64), 64)
	if err != nil {
		return p // not reached: it was formatted
	}
	return r
}
