package source

import (
	"context"
	"math"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
)

// HasLabel implements View.
func (v *At) HasLabel(ctx context.Context, query profile.Query, label string) (bool, error) {
	values, err := v.DB.LabelValues(ctx, v.Snap, label, query)
	return len(values) > 0, err
}

// ByLabel implements View.
func (v *At) ByLabel(ctx context.Context, q *ByLabel) ([]LabelRow, []bool, error) {
	lines, err := v.DB.Range(ctx, v.Snap, q.Type, q.Query, profile.RangeOptions{Step: time.Duration(q.Step), By: []string{q.Label}})
	if err != nil {
		return nil, nil, err
	}
	all := fanout.NewLabelRows(len(q.Sides))
	for i := range lines {
		row := all.Row(valueOf(lines[i].Labels))
		row.Points = lines[i].Points
		for _, p := range row.Points {
			row.Total += p.Value
		}
	}
	if q.HasMeans() { // which over the range is no sum of the means of steps
		totals, err := v.DB.Totals(ctx, v.Snap, q.Type, q.Query, q.Label)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range totals {
			all.Row(valueOf(t.Labels)).Total = t.Value
		}
	}
	has := make([]bool, len(q.Sides))
	for i, side := range q.Sides {
		query := q.Query
		query.From, query.To = side[0], side[1]
		totals, err := v.DB.Totals(ctx, v.Snap, q.Type, query, q.Label)
		if err != nil {
			return nil, nil, err
		}
		has[i] = len(totals) > 0
		for _, t := range totals {
			all.Row(valueOf(t.Labels)).Before[i] = t.Value
		}
	}
	sources, err := v.DB.SourcesBy(ctx, v.Snap, q.Type, q.Query, q.Label)
	if err != nil {
		return nil, nil, err
	}
	for _, of := range sources {
		all.Row(valueOf(of.Labels)).Sources = of.Sources
	}
	return all.List, has, v.findNewest(ctx, q, all)
}

// findNewest finds the time of the newest profile of each row. It reads the profiles of the last step of its line, which
// most rows share.
func (v *At) findNewest(ctx context.Context, q *ByLabel, all *fanout.LabelRows) error {
	last := map[int64]bool{} // starts of the steps
	for _, row := range all.List {
		if n := len(row.Points); n > 0 {
			last[row.Points[n-1].Time] = true
		}
	}
	for start := range last {
		query := q.Query
		query.From = max(query.From, start)
		if query.To-start > q.Step {
			query.To = start + q.Step
		}
		times, err := v.DB.NewestBy(ctx, v.Snap, q.Type, query, q.Label)
		if err != nil {
			return err
		}
		for _, of := range times {
			row := all.Row(valueOf(of.Labels))
			row.Newest = max(row.Newest, of.Time)
		}
	}
	return nil
}

// valueOf returns the value in the labels of an answer, which are the label, or none.
func valueOf(labels []profile.Label) string {
	if len(labels) == 0 {
		return ""
	}
	return labels[0].Value
}

// wholeRange is a step that all times are in.
const wholeRange = math.MaxInt64/2 + 1

// PartsByLabel returns what a front makes the answer to ByLabel from.
func (v *At) PartsByLabel(ctx context.Context, q *ByLabel) (*fanout.ByLabelAnswer, error) {
	p := labelParts{out: &fanout.ByLabelAnswer{}, values: map[string]int{}, sources: map[string]int{}, withTimes: q.HasMeans()}
	newest := fanout.NewLabelRows(0)
	for i, at := range append([][2]int64{{q.Query.From, q.Query.To}}, q.Sides...) {
		query, step := q.Query, q.Step
		query.From, query.To = at[0], at[1]
		if i > 0 {
			step = wholeRange
		}
		sums, times, err := v.DB.SourceRange(ctx, v.Snap, q.Type, query, profile.RangeOptions{Step: time.Duration(step), By: []string{q.Label}})
		if err != nil {
			return nil, err
		}
		p.add(sums, times)
		for k := range sums {
			if row := newest.Row(valueOf(sums[k].Labels)); i == 0 && (len(row.Points) == 0 || row.Points[0].Time < sums[k].Points[len(sums[k].Points)-1].Time) {
				row.Points = sums[k].Points[len(sums[k].Points)-1:]
			}
		}
	}
	if err := v.findNewest(ctx, q, newest); err != nil {
		return nil, err
	}
	p.out.Newest = make([]int64, len(p.out.Values))
	for i, value := range p.out.Values {
		p.out.Newest[i] = newest.Row(value).Newest
	}
	return p.out, v.Profiles().TellKinds(ctx, q.Query, q.Type)
}

// labelParts makes the answer for a front.
type labelParts struct {
	out             *fanout.ByLabelAnswer
	values, sources map[string]int // index in the answer
	withTimes       bool
}

// add adds a range.
func (p *labelParts) add(sums, times []profile.SourceLine) {
	var r fanout.ByLabelRange
	for _, l := range sums {
		r.Sums.Add(indexIn(p.values, &p.out.Values, valueOf(l.Labels)), p.source(l.Source), l.Points)
	}
	if p.withTimes {
		for _, l := range times {
			r.Times.Add(0, p.source(l.Source), l.Points)
		}
	}
	p.out.Ranges = append(p.out.Ranges, r)
}

func (p *labelParts) source(labels []profile.Label) int {
	return indexIn(p.sources, &p.out.Sources, fanout.LabelsKey(fanout.LabelPairs(labels)))
}

// indexIn returns the index of a text in a list, to which it is added if it is new.
func indexIn(index map[string]int, list *[]string, text string) int {
	i, known := index[text]
	if !known {
		i, index[text] = len(*list), len(*list)
		*list = append(*list, text)
	}
	return i
}
