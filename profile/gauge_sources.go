package profile

import (
	"encoding/binary"
	"sync"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/schema"
)

// Sums of gauges are grouped by the number of times of their source, and not by the source: sources that have the same number are
// added up before they are divided (M2 of internal/means), so there is a group for each stack and number.

// asOf returns the column that groups rows by the number of times of their source, as an index in found.
func (t *gaugeTimes) asOf(found *divisors) *columnstore.AsOf {
	of := append([]string{ColumnSampleType, ColumnSampleUnit}, t.labels...)
	time := ""
	if t.step > 0 {
		time = ColumnTimestamp
	}
	return &columnstore.AsOf{Time: time, Of: of, New: func(take func(bytes int64) error) columnstore.CaseFinder {
		return &sourceFinder{newSubjects(take), t, found, []gaugeSource{{}}}
	}}
}

// divisors numbers the numbers of times that were found, from 0 for the divisor of what is no gauge. It is safe for concurrent use.
type divisors struct {
	mu    sync.Mutex
	list  []int64
	index map[int64]uint32
}

func (d *divisors) number(times int64) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, known := d.index[times]
	if !known {
		i, d.index[times] = uint32(len(d.list)), uint32(len(d.list))
		d.list = append(d.list, times)
	}
	return i
}

// sourceFinder finds the divisors of the rows of sources. A subject is a source, or the first columns of one.
type sourceFinder struct {
	*subjects
	times   *gaugeTimes
	found   *divisors
	sources []gaugeSource // by subject
}

// gaugeSource is a subject.
type gaugeSource struct {
	label   string // the last column's text
	isGauge bool
	divisor uint32 // if numbers are not by step; 0 is not found yet
}

// Subject implements columnstore.CaseFinder. Its key is that of gaugeTimes.keyOf, without the time.
func (f *sourceFinder) Subject(subject uint32, column int, v columnstore.Cell) (uint32, error) {
	next, isNew, err := f.next(subject, v)
	if err == nil && isNew {
		of := gaugeSource{label: string(v.Bytes), isGauge: f.sources[subject].isGauge}
		if column == 0 {
			of.isGauge = Type{Sample: of.label}.IsGauge()
		}
		f.sources = append(f.sources, of)
	}
	return next, err
}

// Groups implements columnstore.CaseFinder.
func (f *sourceFinder) Groups(subject uint32, times []int64, groups []uint32) error {
	of := &f.sources[subject]
	switch {
	case !of.isGauge:
		clear(groups)
	case f.times.step > 0:
		for i, at := range times {
			start := schema.RoundDown(at, f.times.step)
			if i > 0 && start == schema.RoundDown(times[i-1], f.times.step) {
				groups[i] = groups[i-1]
				continue
			}
			f.key = binary.AppendVarint(append(f.key[:0], f.keys[subject]...), start)
			groups[i] = f.found.number(max(1, f.times.numbers[string(f.key)]))
		}
	default:
		if of.divisor == 0 {
			of.divisor = f.found.number(max(1, f.times.of(of.label, f.keys[subject])))
		}
		for i := range groups {
			groups[i] = of.divisor
		}
	}
	return nil
}

// of returns the number of times of the source with a key, and a text in the last of its columns.
func (t *gaugeTimes) of(label, key string) int64 {
	if t.given != nil {
		return t.given[label]
	}
	return t.numbers[key]
}
