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
	"github.com/granarydb/granary/internal/stats"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Bounds on the marks of a picture.
const (
	mostWakes     = 2000
	mostWakeReads = 2_000_000 // intervals that are read for wake-ups
)

// Wake is an instant at which the attribute of a row was woken.
type Wake struct {
	Row   int    `json:"row"`    // in PixelsAnswer.Rows
	Pixel int32  `json:"pixel"`  // in which it happened
	By    string `json:"by"`     // the attribute that woke it, "" for none: a timer, the network or the system
	ByRow int    `json:"by_row"` // its row, -1 without one
}

// wakes fills in what woke the attributes of rows: one wake of a row by another attribute in a pixel.
func (m *pixelMaker) wakes(ctx context.Context, made []activity) error {
	m.out.Wakes = []Wake{}
	v, reads, rowOf := m.pyramid.View(), uint64(0), map[history.Attribute]int{}
	for row, a := range made {
		rowOf[a.attribute] = row
	}
	for row, a := range made {
		wakes := stats.Wakes(v, a.attribute, m.in.from, m.in.to)
		if wakes == nil {
			continue
		}
		if reads += a.intervals; reads > mostWakeReads || ctx.Err() != nil {
			m.out.WakesLeft = true
			return ctx.Err()
		}
		last := Wake{Pixel: -1}
		for woken, err := range wakes {
			if err != nil {
				return err
			}
			wake := Wake{Row: row, Pixel: m.pixelOf(woken.At), ByRow: -1}
			if woken.By != history.Top {
				wake.By = pathText(v.Names, woken.By)
				if at, is := rowOf[woken.By]; is {
					wake.ByRow = at
				}
			}
			if wake == last {
				continue
			}
			if len(m.out.Wakes) == mostWakes {
				m.out.WakesLeft = true
				return nil
			}
			m.out.Wakes, last = append(m.out.Wakes, wake), wake
		}
	}
	return nil
}

// pixelOf returns the pixel of an instant in the range.
func (m *pixelMaker) pixelOf(t int64) int32 {
	return int32(min(float64(t-m.in.from)/float64(m.in.length())*float64(m.out.Pixels), float64(m.out.Pixels-1)))
}

// samples fills in the pixels of each row in which its attribute has samples, by the one label of the pattern.
func (m *pixelMaker) samples(ctx context.Context, pattern attrpath.Pattern) error {
	q := m.q
	if len(pattern.Path.Labels) != 1 || pattern.IsWild() {
		return fault.Invalid("parameter samples: want a path p with one label, such as Goroutines/{goid}")
	}
	query, typ, err := q.sampled(ctx)
	if err != nil {
		return err
	}
	query.From, query.To = m.in.from, m.in.to+1
	columns, err := labelColumns(q, pattern.Path.Labels[0])
	if err != nil || len(columns) == 0 {
		return err
	}
	groups, err := q.at.DB.Table().Aggregate(ctx, q.at.Snap, columnstore.AggregateOptions{
		By: append([]string{profile.ColumnTimestamp}, columns...), Where: query.Expr(typ), NoCounts: true, MaxBytes: q.page.Read.QueryBytes,
	})
	if err != nil {
		return err
	}
	rowOf := map[string]int{}
	for i, row := range m.out.Rows {
		rowOf[row.Attribute] = i
	}
	for i, t := range groups.Columns[0].Values.Int64s {
		value, is := labelOf(groups.Columns[1:], i)
		row, isRow := rowOf[history.PathText(pattern.Path.Names([]string{value}))]
		if is && isRow {
			m.out.Rows[row].Samples = append(m.out.Rows[row].Samples, m.pixelOf(t))
		}
	}
	for i := range m.out.Rows {
		slices.Sort(m.out.Rows[i].Samples)
		m.out.Rows[i].Samples = slices.Compact(m.out.Rows[i].Samples)
	}
	return nil
}

// labelColumns returns the columns that can have a label, in the order in which they count, as isLabel has it.
func labelColumns(q *pageQuestion, label string) (out []string, err error) {
	columns, err := q.at.DB.Table().Columns(q.at.Snap)
	if err != nil {
		return nil, err
	}
	for _, column := range []string{profile.ColumnLabels + "." + label, rows.LabelColumn(profile.ColumnPprofLabels, label, 0)} {
		if slices.Contains(columns, column) {
			out = append(out, column)
		}
	}
	for _, column := range columns {
		if family, rest, _ := strings.Cut(column, "."); family == profile.ColumnPprofNumLabels && isFirstNumber(rest, label) {
			out = append(out, column)
		}
	}
	return out, nil
}

// labelOf returns the first value of a group in columns that can have a label.
func labelOf(columns []columnstore.GroupColumn, group int) (value string, is bool) {
	for i := range columns {
		v := &columns[i].Values
		switch {
		case v.Null(group):
		case len(v.Int64s) > 0:
			return strconv.FormatInt(v.Int64s[group], 10), true
		case len(v.Strings) > 0 && v.Strings[group] != "":
			return v.Strings[group], true
		}
	}
	return "", false
}
