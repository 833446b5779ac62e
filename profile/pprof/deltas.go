package pprof

import (
	"cmp"
	"container/list"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// DeltaOptions are the options of NewDeltas. The zero value suits Go's programs.
type DeltaOptions struct {
	// Types are the names of the sample types whose values count from the start of a process. Default:
	// alloc_objects, alloc_space, contentions and delay, the cumulative types of Go's heap, allocs, block
	// and mutex profiles.
	Types []string
	// MaxBytes bounds the memory for the values of previous profiles, 24 bytes for each sample of a
	// source with two cumulative types. Beyond it the source with the oldest insert is forgotten. One
	// source is always kept. Default 256 MiB.
	MaxBytes int64
	// MaxGap is the longest time between two profiles whose difference counts, because the growth of days
	// is not that of the minute in which they end. 0 means no bound.
	MaxGap time.Duration
}

// Counting is how the cumulative values of a profile are counted.
type Counting int

// The ways of counting.
const (
	// CountedAsSent is a profile without cumulative types, or a difference already.
	CountedAsSent Counting = iota
	// CountedGrowth is the growth since the previous profile of the source.
	CountedGrowth
	// CountedFirst is the first profile of a source, also after the source was forgotten.
	CountedFirst
	// CountedRestart is a profile with a value that fell: its process has restarted.
	CountedRestart
	// CountedGap is a profile more than DeltaOptions.MaxGap after the previous one, or before one of a clock that was ahead.
	CountedGap
	// CountedLate is a profile that is not later than the previous one, whose growth has its own.
	CountedLate
	countings
)

// String returns a word: growth, first.
func (c Counting) String() string {
	return [...]string{"as sent", "growth", "first", "restart", "gap", "late"}[c]
}

// IsAnew reports whether the profile has no previous profile to subtract.
func (c Counting) IsAnew() bool {
	return c == CountedFirst || c == CountedRestart || c == CountedGap
}

// DeltaStats describes a Deltas.
type DeltaStats struct {
	Counted   [countings]int64 // profiles by Counting
	Sources   int
	Bytes     int64 // of their values, which MaxBytes bounds
	Forgotten int64 // sources forgotten for MaxBytes
}

// Deltas turns cumulative profiles into differences: the values of a profile become the growth since the
// previous profile of the same source. A source is the profiles of one program (its main mapping) with
// equal labels, sample types and period type.
//
// The first profile of a source, also after the source was forgotten, is unknown to have grown since when.
// If a value is lower than before, or a sample is missing, the process has restarted. Both, and a profile
// after a gap, start anew: their cumulative values become 0, or stay whole, as the caller chooses. A
// profile that is not later than the previous one gets 0, because the previous one has its growth.
//
// A profile with a duration is a difference already, and is left alone. So are Go's profiles of ?seconds=10,
// while profiles that count from the start have no duration. Only profiles of one process should belong to a
// source. A Deltas is safe for concurrent use.
type Deltas struct {
	opts DeltaOptions

	mu     sync.Mutex
	series map[uuid.UUID]*list.Element // of *deltaSeries, in recent
	recent list.List                   // the last inserted one is first
	stats  DeltaStats
	file   *deltaFile // nil without OpenDeltas
}

// deltaSeries is the last profile of a source.
type deltaSeries struct {
	key   uuid.UUID
	bytes int64     // guarded by Deltas.mu, like kept
	kept  *counters // last, as it was recorded

	mu   sync.Mutex
	last *counters
}

// counters are the cumulative values of a profile. They are immutable.
type counters struct {
	time   int64
	ids    []uint64 // hashes of a sample's stack and labels, sorted
	values []int64  // for each id, one per cumulative type
}

const seriesBytes = 300 // for a series, its places in a map and a list

// size returns the approximate bytes that c keeps.
func (c *counters) size() int64 { return seriesBytes + 8*int64(cap(c.values)+cap(c.ids)) }

// NewDeltas returns a Deltas without sources.
func NewDeltas(opts DeltaOptions) *Deltas {
	if opts.Types == nil {
		opts.Types = []string{"alloc_objects", "alloc_space", "contentions", "delay"}
	}
	opts.Types = slices.Clone(opts.Types)
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 256 << 20
	}
	return &Deltas{opts: opts, series: map[uuid.UUID]*list.Element{}}
}

// Stats returns the numbers so far.
func (d *Deltas) Stats() DeltaStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Sources = len(d.series)
	return s
}

// Subtraction is what Subtract did with a profile. The zero Subtraction is that of a profile as it was sent.
type Subtraction struct {
	Counted Counting
	Source  uuid.UUID // equal for the profiles of a source
	Types   []string  // the cumulative types
	Time    int64     // of the profile, in Unix nanoseconds

	deltas     *Deltas
	series     *deltaSeries
	prev, next *counters
}

// Subtract changes the cumulative values of a profile at the time at, in Unix nanoseconds, into their
// growth since the previous profile. A profile without a duration gets the time between them. labels
// tell sources apart. A profile that starts anew is left as it is if whole, otherwise its
// cumulative values become 0. isAhead reports that a time is later than it can be now.
//
// The profile is the previous one of the next from now on. If it is not stored after all, call Drop.
func (d *Deltas) Subtract(f *Flat, labels map[string]string, at int64, whole bool, isAhead func(at int64) bool) Subtraction {
	var types []int
	out := Subtraction{deltas: d}
	for i, t := range f.Types {
		if slices.Contains(d.opts.Types, f.Strings[t.Name]) {
			types = append(types, i)
			out.Types = append(out.Types, f.Strings[t.Name])
		}
	}
	if len(types) == 0 || f.Duration != 0 {
		return Subtraction{}
	}
	out.Source, out.Time = sourceOf(f, labels), at
	s := d.find(out.Source)
	next, samples := newCounters(f, types, at)
	s.mu.Lock()
	defer s.mu.Unlock()
	out.series, out.prev = s, s.last
	growth := next.values
	if out.Counted = next.after(s.last, d.opts.MaxGap, isAhead); out.Counted == CountedGrowth {
		var fell bool
		if growth, fell = next.since(s.last, len(types)); fell {
			out.Counted = CountedRestart
		}
	}
	switch {
	case out.Counted == CountedGrowth:
		f.Duration = at - s.last.time
		write(f, types, samples, growth)
	case out.Counted == CountedLate || !whole:
		write(f, types, samples, nil)
	}
	if out.Counted != CountedLate {
		out.next, s.last = next, next
	}
	d.account(out, 1)
	return out
}

// Drop makes the previous profile the last one of its source again, unless a later one took its place.
func (s Subtraction) Drop() {
	if s.series == nil {
		return
	}
	s.series.mu.Lock()
	defer s.series.mu.Unlock()
	if s.next != nil && s.series.last == s.next {
		s.series.last = s.prev
	}
	s.deltas.account(s, -1)
}

// find returns a series, and adds it if it is new.
func (d *Deltas) find(key uuid.UUID) *deltaSeries {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.series[key]
	if e == nil {
		e = d.recent.PushFront(&deltaSeries{key: key})
		d.series[key] = e
	}
	s, _ := e.Value.(*deltaSeries)
	return s
}

// account counts a profile, or with -1 one that was dropped. It measures its series, and forgets others beyond
// the bound. The caller holds the lock of the series.
func (d *Deltas) account(of Subtraction, n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Counted[of.Counted] += n
	s := of.series
	e := d.series[s.key]
	switch {
	case e != nil && e.Value != s:
		return // it was forgotten meanwhile, and another profile added it again
	case s.last == nil:
		if e != nil {
			d.remove(e)
		}
		d.record(of, n < 0)
		return
	case e == nil: // it was forgotten meanwhile
		e = d.recent.PushFront(s)
		d.series[s.key] = e
	}
	d.recent.MoveToFront(e)
	size := s.last.size()
	d.stats.Bytes += size - s.bytes
	s.bytes, s.kept = size, s.last
	for d.stats.Bytes > d.opts.MaxBytes && d.recent.Len() > 1 {
		d.remove(d.recent.Back())
		d.stats.Forgotten++
	}
	d.record(of, n < 0)
}

// remove forgets a series.
func (d *Deltas) remove(e *list.Element) {
	s, _ := d.recent.Remove(e).(*deltaSeries)
	d.stats.Bytes -= s.bytes
	s.bytes, s.kept = 0, nil
	delete(d.series, s.key)
}

// sourceOf returns the key of a profile's source.
func sourceOf(f *Flat, labels map[string]string) uuid.UUID {
	var key []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if labels[name] != "" {
			key = appendString(appendString(key, name), labels[name])
		}
	}
	key = append(key, 0) // no label has an empty name
	for _, t := range append(slices.Clone(f.Types), f.Period) {
		key = appendString(appendString(key, f.Strings[t.Name]), f.Strings[t.Unit])
	}
	for _, m := range f.Mappings {
		if m.Has&IsProgram != 0 {
			key = appendString(appendString(key, f.Strings[m.File]), f.Strings[m.BuildID])
		}
	}
	return xxh3.Hash128(key).Bytes()
}

// newCounters returns the cumulative values of a profile, and the index of each sample among them. It
// adds up samples with the same stack and labels.
func newCounters(f *Flat, types []int, at int64) (c *counters, samples []int) {
	type place struct {
		id     uint64
		sample int
	}
	places := make([]place, len(f.Samples))
	ids := make([]uuid.UUID, len(f.Locations))
	var record, key []byte
	for i := range f.Samples {
		stack, _, labels := f.Sample(i)
		key = binary.AppendUvarint(key[:0], uint64(len(stack)))
		for _, l := range stack {
			if ids[l] == (uuid.UUID{}) {
				record, ids[l] = f.AppendLocation(record[:0], l)
			}
			key = append(key, ids[l][:]...)
		}
		for _, l := range labels {
			key = appendString(appendString(key, f.Strings[l.Name]), f.Strings[l.Text])
			key = binary.AppendVarint(key, l.Number)
		}
		places[i] = place{xxh3.Hash(key), i}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.id, b.id) })
	distinct := 0
	for i, p := range places {
		if i == 0 || p.id != places[i-1].id {
			distinct++
		}
	}
	c = &counters{time: at, ids: make([]uint64, 0, distinct), values: make([]int64, distinct*len(types))}
	samples = make([]int, len(f.Samples))
	for i, p := range places {
		if i == 0 || p.id != places[i-1].id {
			c.ids = append(c.ids, p.id)
		}
		n := len(c.ids) - 1
		samples[p.sample] = n
		_, values, _ := f.Sample(p.sample)
		for k, t := range types {
			c.values[n*len(types)+k] += values[t]
		}
	}
	return c, samples
}

// after returns how c is counted after last by their times.
func (c *counters) after(last *counters, maxGap time.Duration, isAhead func(int64) bool) Counting {
	switch {
	case last == nil:
		return CountedFirst
	case c.time <= last.time && isAhead(last.time): // otherwise nothing would be counted until then
		return CountedGap
	case c.time <= last.time:
		return CountedLate
	case maxGap > 0 && c.time-last.time > int64(maxGap):
		return CountedGap
	}
	return CountedGrowth
}

// since returns the values of c less the values of last. fell reports whether one is lower than in last.
func (c *counters) since(last *counters, types int) (growth []int64, fell bool) {
	growth = slices.Clone(c.values)
	n := 0
	for m, id := range last.ids {
		for n < len(c.ids) && c.ids[n] < id {
			n++
		}
		known := n < len(c.ids) && c.ids[n] == id
		for k := range types {
			before := last.values[m*types+k]
			if !known && before > 0 || known && c.values[n*types+k] < before {
				return nil, true
			}
			if known {
				growth[n*types+k] -= before
			}
		}
	}
	return growth, false
}

// write writes values into the profile that its counters were made from: the sum of equal samples into the first
// of them. nil stands for zeros.
func write(f *Flat, types, samples []int, values []int64) {
	written := make([]bool, len(values))
	for i, n := range samples {
		for k, t := range types {
			value := int64(0)
			if at := n*len(types) + k; at < len(values) && !written[at] {
				value, written[at] = values[at], true
			}
			f.Values[i*len(f.Types)+t] = value
		}
	}
}
