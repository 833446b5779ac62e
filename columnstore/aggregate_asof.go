package columnstore

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// AsOf is one more thing to group rows by: what was the case at their time, which only the
// caller knows. Databases call it an as-of join.
type AsOf struct {
	// Time names an Int64 column, fixed and without nulls. Its values are not rounded.
	Time string
	// Of names concrete columns, none of lists, that say whose case it is.
	Of []string
	// New returns what finds it out, for one goroutine. Several run at the same time; the
	// groups that they give must mean the same. take accounts for memory that is about to
	// be allocated, against AggregateOptions.MaxBytes: its error is to be returned.
	New func(take func(bytes int64) error) CaseFinder
}

// CaseFinder finds out what was the case. What it returns must depend on its arguments
// alone: it is asked once for most distinct ones, not for each row. Its errors end the
// query.
type CaseFinder interface {
	// Subject returns the subject of rows that have a value in a column of AsOf.Of, given
	// by its index. The subject of a row is 0 at first and is looked up with each of the
	// columns, in their order. Subjects are best small, from 0 up; MaxSubject is the
	// greatest.
	Subject(subject uint32, column int, v Cell) (uint32, error)
	// Groups sets an element of groups for each of the times, which ascend: the number of
	// the group of rows of the subject at that time. Groups are best small, from 0 up.
	Groups(subject uint32, times []int64, groups []uint32) error
}

// MaxSubject is the greatest subject that a CaseFinder may return.
const MaxSubject = 1<<30 - 1

// Cell is the value of a row in a column.
type Cell struct {
	// Null says that the row has none.
	Null bool
	// Word is the value of a fixed type: encoding.ToInt64 and its like convert it.
	Word uint64
	// Bytes is the text of a String, the 16 bytes of a UUID. They must not be changed.
	Bytes []byte
}

// asOf finds the groups of rows for one goroutine, and hands them on as the words of a
// column to group by.
type asOf struct {
	opts   *AsOf
	finder CaseFinder
	from   []*byColumn // those of AsOf.Of, and the time
	time   *byColumn
	to     *byColumn     // the last one of the aggregator
	memos  []subjectMemo // of each column of AsOf.Of
	dicts  *queryDicts

	times  []int64  // that the rows at hand can have, ascending
	places []uint32 // in times, of the time column's words
	ranks  []uint32 // in times, of rows
	seen   []uint64 // a bit for each of times; none is left set
	asked  []int64  // times
	groups []uint32 // of those asked
	ofRank []uint32 // groups by rank
	ofWord []uint32 // subjects by word
}

// newAsOf checks the columns, and adds one for the groups.
func (a *aggregator) newAsOf(opts *AsOf) error {
	s := a.table.schema
	out := &asOf{opts: opts}
	for i, name := range append(slices.Clip(opts.Of), opts.Time) {
		column, ok := s.Resolve(name)
		if !ok {
			return fmt.Errorf("%w: as of: no column %q", ErrQuery, name)
		}
		c := s.Columns()[column]
		if c.Type == encoding.UUIDList {
			return fmt.Errorf("%w: as of: column %q is of lists", ErrQuery, name)
		}
		if i == len(opts.Of) && (c.Type != encoding.Int64 || c.Dynamic || c.Nullable) {
			return fmt.Errorf("%w: as of: time %q: want a fixed int64 column without nulls", ErrQuery, name)
		}
		by := &byColumn{Concrete: schema.Concrete{Column: column, Name: name}, typ: c.Type, series: s.IsSeries(column), exact: true}
		out.from = append(out.from, by.fork())
	}
	a.by = append(a.by, &byColumn{Concrete: schema.Concrete{Column: -1}, typ: encoding.Uint64, how: ofRow})
	a.start(out)
	return nil
}

// start gives the aggregator what finds the groups, and its last column those.
func (a *aggregator) start(as *asOf) {
	as.time, as.to = as.from[len(as.from)-1], a.by[len(a.by)-1]
	as.finder, as.dicts = as.opts.New(a.memory.take), a.query
	as.memos = make([]subjectMemo, len(as.opts.Of))
	a.asOf = as
}

// fork returns what does the same and knows nothing.
func (as *asOf) fork() *asOf {
	out := &asOf{opts: as.opts}
	for _, c := range as.from {
		out.from = append(out.from, c.fork())
	}
	return out
}

// addCases finds the groups of the rows at hand, whose columns are loaded.
func (a *aggregator) addCases(s *selection) error {
	as := a.asOf
	as.rankTimes(a.ordinals)
	as.to.words = slices.Grow(as.to.words[:0], s.rows)[:s.rows]
	row := 0
	for spans := s.spans; len(spans) > 0; {
		n, rest := sameSeries(spans)
		subjects := as.to.words[row : row+n]
		if err := a.addSubjects(spans[0].series, row, subjects); err != nil {
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

// rankTimes finds out which times the rows can have, and the place of each row's among them.
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
	for _, word := range words { // mostly one after the other
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

// addGroups finds the groups of rows of a subject, which count from lo on.
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

// addSubjects finds the subjects of rows of one series from lo on, column by column: one for
// all, as long as they do not differ.
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

func fill(words []uint64, word uint64) {
	for i := range words {
		words[i] = word
	}
}

// addFirst takes the one subject of all rows over the first column in which they differ.
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

// addDense is addFirst of words that have no nulls and are near to each other.
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

// addColumn takes the subjects of rows over a column, of which all rows have the word,
// unless it has words of its own.
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

// subject returns what a subject becomes with a column's word.
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
		return 0, fmt.Errorf("%w: as of: subject %d of column %q, at most %d", ErrQuery, to, as.from[column].Name, MaxSubject)
	}
	m.add(key, word, to)
	return to, nil
}

// subjectMemo remembers subjects: a hash table that is emptied when it has grown larger
// than the processor's cache.
type subjectMemo struct {
	slots []knownSubject
	used  int
	shift uint8 // of a hash to its slot
}

type knownSubject struct {
	word uint64
	from uint32 // subjectKey, 0 where free
	to   uint32
}

const (
	firstSubjects = 1 << 6
	mostSubjects  = 1 << 16
)

// subjectKey is a subject and whether the word is null, and never 0.
func subjectKey(subject uint32, null bool) uint32 {
	return (subject<<1 | uint32(encoding.FromBool(null))) + 1
}

// find returns what became of a subject.
func (m *subjectMemo) find(from uint32, word uint64) (to uint32, known bool) {
	if m.used == 0 {
		return 0, false
	}
	s := &m.slots[m.slot(from, word)]
	return s.to, s.from != 0
}

// slot returns where a subject and a word are, or would be.
func (m *subjectMemo) slot(from uint32, word uint64) int {
	const odd, golden = 0xbf58476d1ce4e5b9, 0x9e3779b97f4a7c15
	i := int((word + uint64(from)*odd) * golden >> m.shift)
	for m.slots[i].from != 0 && (m.slots[i].from != from || m.slots[i].word != word) {
		i = (i + 1) & (len(m.slots) - 1)
	}
	return i
}

// add remembers what became of a subject of which that is not known.
func (m *subjectMemo) add(from uint32, word uint64, to uint32) {
	if 2*m.used >= len(m.slots) {
		m.grow()
	}
	m.slots[m.slot(from, word)] = knownSubject{word, from, to}
	m.used++
}

// grow makes room: it forgets all if it is as large as it may be.
func (m *subjectMemo) grow() {
	if len(m.slots) >= mostSubjects {
		clear(m.slots)
		m.used = 0
		return
	}
	old := m.slots
	size := max(firstSubjects, 4*len(old))
	m.slots, m.shift = make([]knownSubject, size), uint8(65-bits.Len(uint(size)))
	for _, s := range old {
		if s.from != 0 {
			m.slots[m.slot(s.from, s.word)] = s
		}
	}
}
