package query

import (
	"fmt"
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
)

// newAsOf checks the columns of AsOf and adds a column to group by.
func (a *aggregator) newAsOf(opts *AsOf) error {
	s := a.source.Schema
	out := &asOf{opts: opts}
	for i, name := range append(slices.Clip(opts.Of), opts.Time) {
		column, ok := s.Resolve(name)
		if !ok {
			return fmt.Errorf("%w: as of: no column %q", filter.ErrQuery, name)
		}
		c := s.Columns()[column]
		if c.Type == encoding.UUIDList {
			return fmt.Errorf("%w: as of: column %q is a list column", filter.ErrQuery, name)
		}
		if i == len(opts.Of) && (c.Type != encoding.Int64 || c.Dynamic || c.Nullable) {
			return fmt.Errorf("%w: as of: time %q: want a fixed int64 column without nulls", filter.ErrQuery, name)
		}
		by := &byColumn{Concrete: schema.Concrete{Column: column, Name: name}, typ: c.Type, series: s.IsSeries(column), exact: true}
		out.from = append(out.from, by.fork())
	}
	a.by = append(a.by, &byColumn{Concrete: schema.Concrete{Column: -1}, typ: encoding.Uint64, how: ofRow})
	a.start(out)
	return nil
}

// start creates the finder of groups, and lets the last column of By take its groups.
func (a *aggregator) start(as *asOf) {
	as.time, as.to = as.from[len(as.from)-1], a.by[len(a.by)-1]
	as.finder, as.dicts = as.opts.New(a.memory.take), a.query
	as.memos = make([]subjectMemo, len(as.opts.Of))
	a.asOf = as
}

// addCases finds the groups of the current rows. Their columns must be loaded.
func (a *aggregator) addCases(s *filter.Selection) error {
	as := a.asOf
	as.rankTimes(a.ordinals)
	as.to.words = slices.Grow(as.to.words[:0], s.Rows)[:s.Rows]
	row := 0
	for spans := s.Spans; len(spans) > 0; {
		n, rest := filter.SameSeries(spans)
		subjects := as.to.words[row : row+n]
		if err := a.addSubjects(spans[0].Series, row, subjects); err != nil {
			return err
		}
		err := a.eachWord(subjects, func(subject uint64, rows []uint32) error {
			return as.addGroups(uint32(subject), row, rows)
		})
		if err != nil {
			return err
		}
		row, spans = row+n, rest
	}
	return nil
}

// addSubjects finds the subjects of rows in one series, from lo on, column by column. All rows have the
// same subject until a column differs between them.
func (a *aggregator) addSubjects(series uint32, lo int, subjects []uint64) error {
	as := a.asOf
	subject, same := uint32(0), true
	for i, c := range as.from[:len(as.memos)] {
		word, null := c.word, c.null
		if c.how == ofSeries {
			code, err := a.label(c, series)
			if err != nil {
				return err
			}
			word = uint64(code)
		}
		var err error
		switch {
		case !same:
			err = as.addColumn(a, i, subjects, lo, word, null)
		case c.how <= ofSeries:
			subject, err = as.subject(i, subject, word, null)
		default:
			same = false
			err = as.addFirst(a, i, subject, subjects, lo)
		}
		if err != nil {
			return err
		}
	}
	if same {
		fill(subjects, uint64(subject))
	}
	return nil
}
