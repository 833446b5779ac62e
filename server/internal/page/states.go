package page

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/attrpath"
	"github.com/granarydb/granary/internal/rows"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
)

// pageStates are the states of samples that a query names by the parameters h and p.
type pageStates struct {
	profile.States
	of   *pageHistory
	path attrpath.Pattern
	// The chosen state, or the reason why samples have none.
	state  string
	status string
	groups []profile.StateStacks // groups of the side that was merged last
}

// states returns the states of samples.
func (q *pageQuestion) states() (*pageStates, error) {
	h, err := q.history(q.of.Get("h"))
	if err != nil {
		q.refuse(err)
		return nil, q.err
	}
	path := q.paths()
	if path.IsWild() {
		q.refuse(fault.Invalid("parameter p: samples need the label that * stands for, such as {track}"))
	}
	return &pageStates{States: profile.States{History: h.handle, Path: path.Names}, of: h, path: path}, q.err
}

// chosen returns the states by which a query with parameters of states chooses samples, or nil. It restricts
// the query to samples of an attribute. Values of samples chosen in this way are sums.
func (q *pageQuestion) chosen(query *profile.Query, withShares bool) (_ *pageStates, err error) {
	isState, isStatus, isAttribute := q.of.Has("state"), q.of.Has("status"), q.of.Has("attribute")
	if q.at, err = q.view.Store(source.Histories); err != nil {
		return nil, err
	}
	switch {
	case withShares && !isState && !isStatus && !isAttribute:
		return nil, nil // all samples are chosen
	case isState && isStatus, !isState && !isStatus && !isAttribute:
		return nil, fault.Invalid("parameters state, status and attribute: want one of them with h and p, and not both state and status")
	}
	s, err := q.states()
	if err != nil {
		return nil, err
	}
	s.state, s.status = q.of.Get("state"), q.of.Get("status")
	statuses := []string{profile.StateNoLabel.String(), profile.StateNoAttribute.String(), profile.StateNoInstant.String()}
	if isStatus && !slices.Contains(statuses, s.status) {
		return nil, fault.Invalid("parameter status: want one of %q, not %s", statuses, fault.Quoted(s.status))
	}
	if isAttribute {
		if query.Where, err = q.ofAttribute(s); err != nil {
			return nil, err
		}
	}
	query.SumGauges = true
	if !isState && !isStatus {
		return nil, nil
	}
	return s, nil
}

// ofAttribute returns the condition that samples belong to the attribute in the parameter.
func (q *pageQuestion) ofAttribute(s *pageStates) (columnstore.Expr, error) {
	_, names := q.attribute("attribute", s.of.Names)
	if q.err != nil {
		return columnstore.Expr{}, q.err
	}
	return q.samplesOf(s, names)
}

// holds reports whether samples of a group are chosen.
func (s *pageStates) holds(g profile.StateStacks) bool {
	if s.status != "" {
		return g.Status.String() == s.status
	}
	return g.Status == profile.StateKnown && StateName(g.State) == s.state
}

// chosenStates describes a choice by state in an answer.
type chosenStates struct {
	// All is the total of the samples of all states for each side. Without is the total of samples without a
	// state.
	All     []int64      `json:"all"`
	Without []int64      `json:"without"`
	Lengths stateLengths `json:"lengths"`
}

// stateLengths compares the lengths of profiles and states, in nanoseconds.
type stateLengths struct {
	Profile int64 `json:"profile"` // longest profile
	State   int64 `json:"state"`   // mean length of the attributes' states
	// Coarse is true if profiles are longer than states: the state at a profile's time is then only one of
	// several.
	Coarse bool `json:"coarse"`
}

// mergeState returns the stacks of a side that are chosen by state, and describes the choice in out.
func (q *pageQuestion) mergeState(ctx context.Context, p *pageSides, side int, out *chosenStates) (*profile.Stacks, error) {
	groups, err := q.at.DB.MergeByState(ctx, q.at.Snap, p.typ, p.queries[side], p.states.States)
	if err != nil {
		return nil, err
	}
	p.states.groups = groups
	chosen := &profile.Stacks{Type: p.typ}
	for _, g := range groups {
		out.All[side] += g.Stacks.Total
		if g.Status != profile.StateKnown {
			out.Without[side] += g.Stacks.Total
		}
		if p.states.holds(g) {
			chosen = g.Stacks
		}
	}
	return chosen, nil
}

// lengths compares the profiles of a query with the states in its range.
func (q *pageQuestion) lengths(ctx context.Context, t profile.Type, query profile.Query, s *pageStates) (out stateLengths, err error) {
	if out.Profile, err = q.longest(ctx, t, query); err != nil {
		return out, err
	}
	in, ok := s.of.during(query)
	if !ok {
		return out, nil
	}
	_, all, err := q.activities(ctx, s.of, s.path, in)
	if err != nil {
		return out, err
	}
	var time, intervals float64
	for _, a := range all {
		if a.time > 0 {
			time, intervals = time+float64(a.time), intervals+float64(a.intervals)
		}
	}
	out.State = int64(time / max(1, intervals))
	out.Coarse = intervals > 0 && out.Profile > out.State
	return out, nil
}

// longest returns the greatest duration of a query's profiles.
func (q *pageQuestion) longest(ctx context.Context, t profile.Type, query profile.Query) (int64, error) {
	groups, err := q.at.DB.Table().Aggregate(ctx, q.at.Snap, columnstore.AggregateOptions{
		Aggregates: []columnstore.Aggregate{{Op: columnstore.Max, Column: profile.ColumnDuration}},
		Where:      query.Expr(t), NoCounts: true, MaxBytes: q.page.Read.QueryBytes,
	})
	if err != nil {
		return 0, err
	}
	if v := &groups.Aggregates[0].Values; len(v.Int64s) > 0 && !v.Null(0) {
		return v.Int64s[0], nil
	}
	return 0, nil
}

// StatesAnswer is the answer to GET /api/v1/states: the sums of samples by state.
type StatesAnswer struct {
	Head
	Type
	Lengths stateLengths `json:"lengths"`
	// Attributes is the number of attributes of p.
	Attributes int `json:"attributes"`
	// Groups are first the states, then the samples without a state, by reason. Their totals add up to Total.
	Groups []stateGroup `json:"groups"`
}

// stateGroup is the samples with one state, or without.
type stateGroup struct {
	// Status is known, or the reason why the samples have no state.
	Status    string `json:"status"`
	State     string `json:"state,omitempty"` // as in StateText
	Kind      string `json:"kind,omitempty"`
	Total     int64  `json:"total"`
	Magnitude int64  `json:"magnitude"`
	Stacks    int    `json:"stacks"`
}

// statesOf answers GET /api/v1/states.
func statesOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	s, err := q.states()
	if err != nil {
		return nil, err
	}
	query, typ, err := q.sampled(ctx)
	if err != nil {
		return nil, err
	}
	if q.of.Has("attribute") {
		if query.Where, err = q.ofAttribute(s); err != nil {
			return nil, err
		}
	}
	groups, err := q.at.DB.MergeByState(ctx, q.at.Snap, typ, query, s.States)
	if err != nil {
		return nil, err
	}
	out := &StatesAnswer{Groups: []stateGroup{}}
	sum := &profile.Stacks{Type: typ}
	for _, g := range groups {
		group := stateGroup{Status: g.Status.String(), Total: g.Stacks.Total, Magnitude: g.Stacks.Magnitude, Stacks: g.Stacks.Len()}
		if g.Status == profile.StateKnown {
			group.State, group.Kind = StateName(g.State), g.State.Kind().String()
		}
		out.Groups = append(out.Groups, group)
		sum.Total, sum.Magnitude = sum.Total+g.Stacks.Total, sum.Magnitude+g.Stacks.Magnitude
	}
	out.Type = newPageType(typ, query, []*profile.Stacks{sum})
	fit, err := s.path.Match(ctx, s.of.Names, history.Top)
	if err != nil {
		return nil, err
	}
	out.Attributes = len(fit)
	out.Lengths, err = q.lengths(ctx, typ, query, s)
	return out, err
}

// sampled returns a query and a type whose values are sums.
func (q *pageQuestion) sampled(ctx context.Context) (profile.Query, profile.Type, error) {
	query, name := q.side(ctx, "")
	if q.err != nil {
		return query, profile.Type{}, q.err
	}
	query.SumGauges = true
	typ, err := q.findType(ctx, query, name)
	return query, typ.Type, err
}

// samplesOf returns the condition that a sample belongs to an attribute, as defined by profile.States.
func (q *pageQuestion) samplesOf(s *pageStates, names []string) (columnstore.Expr, error) {
	values, ok := s.path.Path.Values(names)
	if !ok || len(values) == 0 {
		return columnstore.Expr{}, fault.Invalid("parameters p and attribute: want an attribute that p leads to by one label in a name")
	}
	columns, err := q.at.DB.Table().Columns(q.at.Snap)
	if err != nil {
		return columnstore.Expr{}, err
	}
	var all []columnstore.Expr
	for i, label := range s.path.Path.Labels {
		all = append(all, isLabel(columns, label, values[i]))
	}
	return columnstore.And(all...), nil
}

// isLabel returns the condition that a label has a value: a label of the profile, otherwise of the sample,
// otherwise a number label, in the order of its columns.
func isLabel(columns []string, label, value string) columnstore.Expr {
	var found, missing []columnstore.Expr
	add := func(is, none columnstore.Expr) {
		found = append(found, columnstore.And(append(slices.Clip(missing), is)...))
		missing = append(missing, none)
	}
	for _, column := range []string{profile.ColumnLabels + "." + label, rows.LabelColumn(profile.ColumnPprofLabels, label, 0)} {
		add(columnstore.Equal(column, value), columnstore.Equal(column, ""))
	}
	if rows.IDType(label) != 0 { // the text of an id is hexadecimal
		add(columnstore.Func(label, func(id any) bool { return id != nil && rows.IDText(id) == value }), columnstore.IsNull(label))
	}
	number, err := strconv.ParseInt(value, 10, 64)
	isNumber := err == nil && strconv.FormatInt(number, 10) == value
	for _, column := range columns {
		if family, rest, _ := strings.Cut(column, "."); family != profile.ColumnPprofNumLabels || !isFirstNumber(rest, label) {
			continue
		}
		is := columnstore.Or()
		if isNumber {
			is = columnstore.Equal(column, number)
		}
		add(is, columnstore.IsNull(column))
	}
	return columnstore.Or(found...)
}

// isFirstNumber reports whether a column of number labels has the first values of a label.
func isFirstNumber(column, label string) bool {
	name, k, _ := rows.CutNumber(column)
	name, _ = rows.CutUnit(name)
	return k == 0 && name == label
}
