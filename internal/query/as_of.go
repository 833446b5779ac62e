package query

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
)

// AsOf is a column to group by. Its values come from the caller: the state of something at each row's
// time. Databases call this an as-of join.
type AsOf struct {
	// Time names a fixed Int64 column without nulls. Its values are not rounded. Empty means that the value depends on the subject
	// alone: the finder is asked for the time 0.
	Time string
	// Of names the concrete columns that identify a row's subject. A list column is not allowed.
	Of []string
	// New returns a finder for one goroutine. A query may use several finders concurrently. Their group
	// numbers must mean the same. The finder calls take before it allocates memory that counts against
	// AggregateOptions.MaxBytes. It must return an error from take.
	New func(take func(bytes int64) error) CaseFinder
}

// CaseFinder finds the groups of rows for an AsOf. Its results may depend only on its arguments, because
// it is called about once for each distinct combination, not for each row. Its errors end the query. It
// belongs to one goroutine.
type CaseFinder interface {
	// Subject returns the subject of rows with value v in column AsOf.Of[column]. A row's subject is 0 at
	// first, and passes through Subject for each column in order. Small subjects, counted from 0, are
	// cheapest. The greatest is MaxSubject.
	Subject(subject uint32, column int, v Cell) (uint32, error)
	// Groups sets groups[i] to the group of the subject's rows at times[i]. The times ascend. Small group
	// numbers, counted from 0, are cheapest.
	Groups(subject uint32, times []int64, groups []uint32) error
}

// MaxSubject is the greatest subject that a CaseFinder may return.
const MaxSubject = 1<<30 - 1

// Cell is a row's value in a column of AsOf.Of.
type Cell struct {
	// Null reports that the row has no value.
	Null bool
	// Word is a fixed type's value. encoding.ToInt64 and similar functions convert it.
	Word uint64
	// Bytes is the text of a String or the 16 bytes of a UUID. It must not be changed.
	Bytes []byte
}

// asOf finds the groups of rows for one goroutine, and writes them as words in a column to group by.
type asOf struct {
	opts   *AsOf
	finder CaseFinder
	from   []*byColumn   // the columns of AsOf.Of, then the time, if any
	time   *byColumn     // nil without a time
	to     *byColumn     // the last column of the aggregator's By
	memos  []subjectMemo // by column of AsOf.Of
	dicts  *queryDicts

	times  []int64  // distinct times of the current rows, ascending
	places []uint32 // index in times, by word of the time column
	ranks  []uint32 // index in times, by row
	seen   []uint64 // a bit for each of times; all clear between calls
	asked  []int64  // times passed to the finder
	groups []uint32 // groups of asked
	ofRank []uint32 // groups by index in times
	ofWord []uint32 // subjects by word
}

// fork returns a copy without a finder and without cached results.
func (as *asOf) fork() *asOf {
	out := &asOf{opts: as.opts}
	for _, c := range as.from {
		out.from = append(out.from, c.fork())
	}
	return out
}

// rankTimes determines the distinct times of the rows, and the index of each row's time.
func (as *asOf) rankTimes(ordinals []uint64) {
	as.times = as.times[:0]
	if as.time.how == ofAll {
		as.times = append(as.times, encoding.ToInt64(as.time.word))
		return
	}
	words := as.time.words
	for _, word := range words {
		as.times = append(as.times, encoding.ToInt64(word))
	}
	slices.Sort(as.times)
	as.times = slices.Compact(as.times)
	as.seen = append(as.seen[:0], make([]uint64, (len(as.times)+63)/64)...)
	as.ofRank = slices.Grow(as.ofRank[:0], len(as.times))[:len(as.times)]
	as.places = as.places[:0]
	place := 0
	for _, word := range words { // mostly ascending
		t := encoding.ToInt64(word)
		if as.times[place] != t {
			if place++; place == len(as.times) || as.times[place] != t {
				place, _ = slices.BinarySearch(as.times, t)
			}
		}
		as.places = append(as.places, uint32(place))
	}
	as.ranks = as.ranks[:0]
	if as.time.how == ofRow {
		as.ranks = append(as.ranks, as.places...)
		return
	}
	for _, ordinal := range ordinals {
		as.ranks = append(as.ranks, as.places[ordinal])
	}
}

// addGroups finds the groups of rows of one subject. The row numbers are relative to lo.
func (as *asOf) addGroups(subject uint32, lo int, rows []uint32) error {
	to := as.to.words[lo:]
	if len(as.times) == 1 {
		as.groups = append(as.groups[:0], 0)
		err := as.finder.Groups(subject, as.times, as.groups)
		for _, row := range rows {
			to[row] = uint64(as.groups[0])
		}
		return err
	}
	ranks := as.ranks[lo:]
	first, last := ranks[rows[0]], ranks[rows[0]]
	for _, row := range rows {
		rank := ranks[row]
		as.seen[rank/64] |= 1 << (rank % 64)
		first, last = min(first, rank), max(last, rank)
	}
	as.asked = as.asked[:0]
	for i := first / 64; i <= last/64; i++ {
		for rest := as.seen[i]; rest != 0; rest &= rest - 1 {
			as.asked = append(as.asked, as.times[64*int(i)+bits.TrailingZeros64(rest)])
		}
	}
	as.groups = slices.Grow(as.groups[:0], len(as.asked))[:len(as.asked)]
	err := as.finder.Groups(subject, as.asked, as.groups)
	n := 0
	for i := first / 64; i <= last/64; i++ {
		for rest := as.seen[i]; rest != 0; rest &= rest - 1 {
			as.ofRank[64*int(i)+bits.TrailingZeros64(rest)] = as.groups[n]
			n++
		}
		as.seen[i] = 0
	}
	for _, row := range rows {
		to[row] = uint64(as.ofRank[ranks[row]])
	}
	return err
}

// noTime is the time that a finder is asked for without a time column.
var noTime = [1]int64{0}

// groupSubjects replaces the subjects of rows by their groups, without a time.
func (as *asOf) groupSubjects(subjects []uint64) error {
	as.groups = append(as.groups[:0], 0)
	last := uint64(0)
	for i, subject := range subjects {
		if i == 0 || subject != last {
			if err := as.finder.Groups(uint32(subject), noTime[:], as.groups); err != nil {
				return err
			}
			last = subject
		}
		subjects[i] = uint64(as.groups[0])
	}
	return nil
}

func fill(words []uint64, word uint64) {
	for i := range words {
		words[i] = word
	}
}

// addFirst passes the common subject of all rows through the first column in which the rows differ.
func (as *asOf) addFirst(a *aggregator, column int, subject uint32, subjects []uint64, lo int) error {
	c := as.from[column]
	if c.how == ofRow && c.nulls == nil {
		words := c.words[lo : lo+len(subjects)]
		if first, span := spanOf(words); isDense(span, len(words)) {
			return as.addDense(column, subject, words, first, span, subjects)
		}
	}
	fill(subjects, uint64(subject))
	return as.addColumn(a, column, subjects, lo, 0, false)
}

// addDense is addFirst for words in a dense span without nulls.
func (as *asOf) addDense(column int, subject uint32, words []uint64, first, span uint64, subjects []uint64) error {
	as.ofWord = append(as.ofWord[:0], make([]uint32, span)...) // subjects plus 1
	for row, word := range words {
		known := &as.ofWord[word-first]
		if *known == 0 {
			to, err := as.subject(column, subject, word, false)
			if err != nil {
				return err
			}
			*known = to + 1
		}
		subjects[row] = uint64(*known - 1)
	}
	return nil
}

// addColumn passes the subjects of rows through a column. All rows have the word `word`, unless the
// column has words by header or by row.
func (as *asOf) addColumn(a *aggregator, column int, subjects []uint64, lo int, word uint64, null bool) error {
	c := as.from[column]
	var from, to, last uint64 // of the row before
	lastNull := false
	for i, subject := range subjects {
		switch c.how {
		case ofHeader:
			word = c.words[a.ordinals[lo+i]]
		case ofRow:
			word, null = c.words[lo+i], c.nulls != nil && c.nulls[lo+i]
		}
		if i == 0 || subject != from || word != last || null != lastNull {
			next, err := as.subject(column, uint32(subject), word, null)
			if err != nil {
				return err
			}
			from, to, last, lastNull = subject, uint64(next), word, null
		}
		subjects[i] = to
	}
	return nil
}

// subject returns the subject after a column's word. It caches results.
func (as *asOf) subject(column int, subject uint32, word uint64, null bool) (uint32, error) {
	m := &as.memos[column]
	key := subjectKey(subject, null)
	if to, known := m.find(key, word); known {
		return to, nil
	}
	v := Cell{Null: null, Word: word}
	if !as.from[column].typ.Fixed() {
		v = Cell{Null: word == 0}
		if !v.Null {
			v.Bytes = as.dicts.strings().Value(uint32(word))
		}
	}
	to, err := as.finder.Subject(subject, column, v)
	if err != nil {
		return 0, err
	}
	if to > MaxSubject {
		return 0, fmt.Errorf("%w: as of: subject %d of column %q, at most %d", filter.ErrQuery, to, as.from[column].Name, MaxSubject)
	}
	m.add(key, word, to)
	return to, nil
}

// newAsOf checks the columns of AsOf and adds a column to group by.
func (a *aggregator) newAsOf(opts *AsOf) error {
	s := a.source.Schema
	out := &asOf{opts: opts}
	names := slices.Clip(opts.Of)
	if opts.Time != "" {
		names = append(names, opts.Time)
	}
	for i, name := range names {
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
	as.to = a.by[len(a.by)-1]
	if as.opts.Time != "" {
		as.time = as.from[len(as.from)-1]
	}
	as.finder, as.dicts = as.opts.New(a.memory.take), a.query
	as.memos = make([]subjectMemo, len(as.opts.Of))
	a.asOf = as
}

// addCases finds the groups of the current rows. Their columns must be loaded.
func (a *aggregator) addCases(s *filter.Selection) error {
	as := a.asOf
	if as.time != nil {
		as.rankTimes(a.ordinals)
	}
	as.to.words = slices.Grow(as.to.words[:0], s.Rows)[:s.Rows]
	row := 0
	for spans := s.Spans; len(spans) > 0; {
		n, rest := filter.SameSeries(spans)
		subjects := as.to.words[row : row+n]
		if err := a.addSubjects(spans[0].Series, row, subjects); err != nil {
			return err
		}
		if as.time == nil {
			if err := as.groupSubjects(subjects); err != nil {
				return err
			}
			row, spans = row+n, rest
			continue
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
