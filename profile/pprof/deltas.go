package pprof

import (
	"encoding/binary"
	"fmt"
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
	// MaxBytes bounds the memory for the values of previous profiles, about 60 bytes for each sample of a
	// series. Beyond it the series with the oldest insert is forgotten. One series is always kept.
	// Default 256 MiB.
	MaxBytes int64
}

// Deltas turns cumulative profiles into differences: the values of a profile become the growth since the
// previous profile of the same series. A series is the profiles with equal labels, sample types and
// period type.
//
// The first profile of a series, also after the series was forgotten, gets no cumulative values, because
// it is unknown since when they were counted. If a value is lower than before, or a sample is missing,
// the process has restarted, and the profile counts as it is.
//
// Only cumulative profiles of one process belong to a series. Profiles that are differences already do
// not, such as the profiles of Go's endpoints with ?seconds=10. A Deltas is safe for concurrent use.
// Profiles of a series wait for each other.
type Deltas struct {
	types []string
	most  int64

	mu     sync.Mutex
	series map[string]*deltaSeries
	bytes  int64
	clock  int64 // inserts so far
}

// deltaSeries is the last profile of a series.
type deltaSeries struct {
	mu   sync.Mutex // held from Subtract to Keep or Drop
	key  string
	last *counters

	bytes, used int64 // guarded by Deltas.mu; used is the clock of the last insert, or 0
}

// counters are the cumulative values of a profile.
type counters struct {
	time   int64
	index  map[uuid.UUID]int // index of the sample, by stack and labels
	values []int64           // for each sample, one per cumulative type
}

const seriesBytes = 400 // for a series and its place in a map

// size returns the approximate bytes that c keeps.
func (c *counters) size() int64 { return 8*int64(cap(c.values)) + 56*int64(len(c.index)) }

// NewDeltas returns a Deltas without series.
func NewDeltas(opts DeltaOptions) *Deltas {
	if opts.Types == nil {
		opts.Types = []string{"alloc_objects", "alloc_space", "contentions", "delay"}
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 256 << 20
	}
	return &Deltas{types: slices.Clone(opts.Types), most: opts.MaxBytes, series: map[string]*deltaSeries{}}
}

// Subtraction is a profile on its way into a series. Keep or Drop must be called once. The zero
// Subtraction does nothing.
type Subtraction struct {
	deltas *Deltas
	series *deltaSeries
	next   *counters
}

// Subtract changes the cumulative values of a profile at the time at, in Unix nanoseconds, into their
// growth since the previous profile. A profile without a duration gets the time between them. labels are
// the whole profile's labels. A profile that is not later than the previous one is ErrProfile, and is
// unchanged. A profile without cumulative types is no error.
//
// The next profile of the series waits for Keep or Drop.
func (d *Deltas) Subtract(f *Flat, labels map[string]string, at int64) (Subtraction, error) {
	var types []int
	for i, t := range f.Types {
		if slices.Contains(d.types, f.Strings[t.Name]) {
			types = append(types, i)
		}
	}
	if len(types) == 0 {
		return Subtraction{}, nil
	}
	s := d.find(seriesKey(f, labels))
	s.mu.Lock()
	if s.last != nil && at <= s.last.time {
		defer s.mu.Unlock()
		return Subtraction{}, fmt.Errorf("%w: its time %s is not after that of the profile before, %s: their difference cannot be taken",
			ErrProfile, timeText(at), timeText(s.last.time))
	}
	next, samples := newCounters(f, types, at)
	next.subtract(s.last, f, types, samples)
	if s.last != nil && f.Duration == 0 {
		f.Duration = at - s.last.time
	}
	return Subtraction{d, s, next}, nil
}

func timeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }

// find returns a series, and adds it if it is new.
func (d *Deltas) find(key string) *deltaSeries {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.series[key]
	if s == nil {
		s = &deltaSeries{key: key}
		d.series[key] = s
	}
	return s
}

// Keep makes the profile the last profile of its series.
func (s Subtraction) Keep() {
	if s.series == nil {
		return
	}
	s.series.last = s.next
	s.deltas.account(s.series, s.next.size()+2*int64(len(s.series.key))+seriesBytes)
	s.series.mu.Unlock()
}

// Drop leaves the series as it was before Subtract.
func (s Subtraction) Drop() {
	if s.series == nil {
		return
	}
	s.deltas.abandon(s.series)
	s.series.mu.Unlock()
}

// account sets the size of a series that was just inserted, and forgets other series beyond the bound.
func (d *Deltas) account(s *deltaSeries, bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch d.series[s.key] {
	case s:
	case nil:
		d.series[s.key] = s // it was forgotten meanwhile
	default:
		return // it was forgotten, and another insert created it again
	}
	d.clock++
	d.bytes += bytes - s.bytes
	s.bytes, s.used = bytes, d.clock
	for d.bytes > d.most && len(d.series) > 1 {
		oldest := s
		for _, other := range d.series {
			if other.used > 0 && other.used < oldest.used {
				oldest = other
			}
		}
		if oldest == s {
			return // the first profile of each other series is still on its way
		}
		d.bytes -= oldest.bytes
		oldest.bytes, oldest.used = 0, 0
		delete(d.series, oldest.key)
	}
}

// abandon removes a series that never had a profile.
func (d *Deltas) abandon(s *deltaSeries) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.used == 0 && d.series[s.key] == s {
		delete(d.series, s.key)
	}
}

func seriesKey(f *Flat, labels map[string]string) string {
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
	return string(key)
}

// newCounters returns the cumulative values of a profile, and the index of each sample among them. It
// adds up samples with the same stack and labels.
func newCounters(f *Flat, types []int, at int64) (c *counters, samples []int) {
	c = &counters{time: at, index: make(map[uuid.UUID]int, len(f.Samples))}
	samples = make([]int, len(f.Samples))
	ids := make([]uuid.UUID, len(f.Locations))
	var record, key []byte
	for i := range f.Samples {
		stack, values, labels := f.Sample(i)
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
		id := uuid.UUID(xxh3.Hash128(key).Bytes())
		n, known := c.index[id]
		if !known {
			n = len(c.index)
			c.index[id] = n
			c.values = append(c.values, make([]int64, len(types))...)
		}
		samples[i] = n
		for k, t := range types {
			c.values[n*len(types)+k] += values[t]
		}
	}
	return c, samples
}

// subtract writes the growth of c since last into the profile that c was made from.
func (c *counters) subtract(last *counters, f *Flat, types []int, samples []int) {
	if last != nil && c.fellSince(last, len(types)) {
		return
	}
	written := make([]bool, len(c.index))
	before := make([]int64, len(c.values))
	if last != nil {
		for id, n := range c.index {
			if m, known := last.index[id]; known {
				copy(before[n*len(types):(n+1)*len(types)], last.values[m*len(types):])
			}
		}
	}
	for i, n := range samples {
		values := f.Values[i*len(f.Types):]
		for k, t := range types {
			values[t] = 0
			if last != nil && !written[n] {
				values[t] = c.values[n*len(types)+k] - before[n*len(types)+k]
			}
		}
		written[n] = true
	}
}

// fellSince reports whether a value is lower than in last.
func (c *counters) fellSince(last *counters, types int) bool {
	for id, m := range last.index {
		n, known := c.index[id]
		for k := range types {
			now := int64(0)
			if known {
				now = c.values[n*types+k]
			}
			if now < last.values[m*types+k] {
				return true
			}
		}
	}
	return false
}
