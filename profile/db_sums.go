package profile

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/internal/pattern"
	"github.com/granarydb/granary/internal/symbols"
)

// SumChoice is a question of DB.Sums: the samples that a selector and a function choose, by labels.
type SumChoice struct {
	Selector Selector
	Function *regexp.Regexp // as in Query.Function
	By       []string       // as in DB.Totals
}

// SumTotals is the answer to a SumChoice. Err is a MixedError, and Totals are nil then.
type SumTotals struct {
	Totals []LabelTotal
	Err    error
}

// Sums answers many questions about one type at once. Each answer equals that of Totals for q with the Selector and the Function of
// its sum. q itself has times and bounds: its Selector, Function, Frames, Hide, Show and Under are not used.
//
// Sums of other types than gauges read the rows once, whatever their number: 5 to 10 ns a row, 50 ns for each stack that one with a
// Function chooses by its Selector, and about 10 us a sum. One of a gauge, or with an id in its Selector or By, costs as much as
// Totals. Query.MaxBytes bounds each read. Errors are as for columnstore.Table.Aggregate.
func (db *DB) Sums(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, sums []SumChoice) ([]SumTotals, error) {
	q = Query{From: q.From, To: q.To, Where: q.Where, SumGauges: q.SumGauges, SumKinds: q.SumKinds, MaxBytes: q.MaxBytes}
	out := make([]SumTotals, len(sums))
	var plain, searched []*summing
	for i, sum := range sums {
		one := &summing{sum: sum, out: &out[i]}
		isShared, err := one.plan(ctx, db, snap, t, q)
		switch {
		case err != nil:
			return nil, err
		case one.out.Err != nil:
		case !isShared:
			own := q
			own.Selector, own.Function, own.SumKinds = sum.Selector, sum.Function, true // kinds are checked
			if out[i].Totals, err = db.Totals(ctx, snap, t, own, sum.By...); err != nil {
				return nil, err
			}
		case sum.Function == nil:
			plain = append(plain, one)
		default:
			searched = append(searched, one)
		}
	}
	p := db.plan(ctx, snap, q, t)
	for _, group := range [][]*summing{plain, searched} {
		if err := p.sumAll(ctx, group); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// summing is a SumChoice while it is made.
type summing struct {
	sum      SumChoice
	out      *SumTotals
	chosen   columnstore.Expr
	matchers []matcher // with all names of their labels
	by       *grouping
	columns  []string // of by
	seen     map[uint32]int
}

// plan resolves the labels of a sum. It reports whether a read of several sums can make it, and notes a MixedError.
func (s *summing) plan(ctx context.Context, db *DB, snap *columnstore.Snapshot, t Type, q Query) (isShared bool, err error) {
	q.Selector = s.sum.Selector
	p := db.plan(ctx, snap, q, t)
	s.by = p.grouping(s.sum.By)
	s.columns = s.by.columns()
	if err := p.oneKind(ctx, p.types, labelsOf(s.columns)); err != nil {
		if mixed, is := errors.AsType[*MixedError](err); is {
			s.out.Err = mixed
			return false, nil
		}
		return false, err
	}
	s.chosen, s.matchers, s.seen = p.q.Selector.Expr(), p.q.Selector.matchers, map[uint32]int{}
	isOfID := slices.ContainsFunc(s.matchers, func(m matcher) bool { return m.idColumn() != "" })
	return !isOfID && (!t.IsGauge() || q.SumGauges), nil
}

// choose reports whether the labels of a row are chosen. places has the indexes of columns by name.
func (s *summing) choose(columns []columnstore.GroupColumn, places map[string]int, row int) bool {
	for _, m := range s.matchers {
		value := ""
		for _, name := range m.columns() {
			if value = means.Text(&columns[places[name]], row); value != "" {
				break
			}
		}
		if !m.Matches(value) {
			return false
		}
	}
	return true
}

// sumAll makes sums that have all a Function or all none.
func (p *plan) sumAll(ctx context.Context, sums []*summing) error {
	if len(sums) == 0 {
		return nil
	}
	hasStacks := sums[0].sum.Function != nil
	var by []string
	places := map[string]int{}
	chosen := make([]columnstore.Expr, len(sums))
	add := func(column string) {
		if _, known := places[column]; !known {
			places[column] = len(by)
			by = append(by, column)
		}
	}
	for i, s := range sums {
		chosen[i] = s.chosen
		for _, column := range s.columns {
			add(column)
		}
		for _, m := range s.matchers {
			for _, column := range m.columns() {
				add(column)
			}
		}
	}
	opts := columnstore.AggregateOptions{By: by, NoCounts: true, Sum: ColumnValue}
	if hasStacks {
		opts.By = append(slices.Clip(by), ColumnStacktrace)
	}
	groups, err := p.read(ctx, columnstore.And(p.chosen, columnstore.Or(chosen...)), opts)
	if err != nil {
		return err
	}
	const place = 4 + 4 // the number of a row's labels, and its place among those of equal labels
	if err := p.fits(groups, place*len(groups.Sums)); err != nil {
		return err
	}
	sets := setsOf(groups, len(by))
	var search *stackSearch
	if hasStacks {
		search = newStackSearch(ctx, p, groups.Column(ColumnStacktrace))
	}
	for _, s := range sums {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.add(groups, sets, places, search)
	}
	return ctx.Err() // of a pattern that was abandoned
}

// labelSets are the rows of groups by the values of their labels.
type labelSets struct {
	rows []uint32 // rows with equal labels follow each other
	ends []int    // of each set
}

// setsOf divides rows by the values of the first columns.
func setsOf(groups *columnstore.Groups, columns int) labelSets {
	of, index, sizes := make([]uint32, len(groups.Sums)), map[string]uint32{}, []int{}
	var key []byte
	for row := range of {
		if row > 0 && areEqual(groups.Columns[:columns], row-1, row) {
			of[row] = of[row-1]
			sizes[of[row]]++
			continue
		}
		key = key[:0]
		for c := range columns {
			key = means.AppendText(key, means.Text(&groups.Columns[c], row))
		}
		i, known := index[string(key)]
		if !known {
			i = uint32(len(sizes))
			index[string(key)], sizes = i, append(sizes, 0)
		}
		of[row] = i
		sizes[i]++
	}
	s := labelSets{rows: make([]uint32, len(of)), ends: make([]int, len(sizes))}
	at := 0
	for i, n := range sizes {
		s.ends[i] = at
		at += n
	}
	for row, i := range of {
		s.rows[s.ends[i]] = uint32(row)
		s.ends[i]++
	}
	return s
}

// areEqual reports whether two rows have equal values.
func areEqual(columns []columnstore.GroupColumn, a, b int) bool {
	for c := range columns {
		if means.Text(&columns[c], a) != means.Text(&columns[c], b) {
			return false
		}
	}
	return true
}

// add makes a sum from groups.
func (s *summing) add(groups *columnstore.Groups, sets labelSets, places map[string]int, search *stackSearch) {
	own := make([]columnstore.GroupColumn, len(s.columns)) // in the order of s.by
	for i, name := range s.columns {
		own[i] = groups.Columns[places[name]]
	}
	type chosen struct {
		rows  []uint32
		group uint32
	}
	var all []chosen
	start := 0
	for _, end := range sets.ends {
		rows := sets.rows[start:end]
		if start = end; s.choose(groups.Columns, places, int(rows[0])) {
			all = append(all, chosen{rows, s.by.group(own, int(rows[0]))})
		}
	}
	if search != nil {
		search.begin(s.sum.Function)
		for _, c := range all {
			search.ask(c.rows)
		}
		search.end()
	}
	for _, c := range all {
		for _, row := range c.rows {
			if search == nil || search.found(row) {
				s.total(c.group).Value += groups.Sums[row]
			}
		}
	}
	slices.SortFunc(s.out.Totals, func(a, b LabelTotal) int { return compareLabels(a.Labels, b.Labels) })
}

// total returns the total of a group, which is valid until the next call.
func (s *summing) total(group uint32) *LabelTotal {
	i, known := s.seen[group]
	if !known {
		i = len(s.out.Totals)
		s.seen[group] = i
		s.out.Totals = append(s.out.Totals, LabelTotal{Labels: s.by.labels[group]})
	}
	return &s.out.Totals[i]
}

// stackSearch finds the stacks with a function, for one sum after the other. Each stack is looked at once a sum.
type stackSearch struct {
	stacks   *columnstore.GroupColumn
	searcher *symbols.Searcher
	re       *regexp.Regexp
	asked    []uint32
	verdicts []byte // by code
}

const (
	isAsked = 1 << iota
	isFound
)

func newStackSearch(ctx context.Context, p *plan, stacks *columnstore.GroupColumn) *stackSearch {
	most := uint32(0)
	if len(stacks.Codes) > 0 {
		most = slices.Max(stacks.Codes)
	}
	return &stackSearch{stacks: stacks, searcher: p.symbols(stacks).Searcher(pattern.Until(ctx)), verdicts: make([]byte, int(most)+1)}
}

// begin forgets what was found.
func (s *stackSearch) begin(re *regexp.Regexp) {
	for _, code := range s.asked {
		s.verdicts[code] = 0
	}
	s.re, s.asked = re, s.asked[:0]
}

// ask adds the stacks of rows.
func (s *stackSearch) ask(rows []uint32) {
	for _, row := range rows {
		if code := s.stacks.Codes[row]; s.verdicts[code] == 0 {
			s.verdicts[code] = isAsked
			s.asked = append(s.asked, code)
		}
	}
}

// end searches the stacks.
func (s *stackSearch) end() {
	s.searcher.Search(s.re, s.asked, func(i int) { s.verdicts[s.asked[i]] |= isFound })
}

// found reports whether the stack of a row has the function.
func (s *stackSearch) found(row uint32) bool { return s.verdicts[s.stacks.Codes[row]]&isFound != 0 }
