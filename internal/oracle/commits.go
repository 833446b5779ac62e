package oracle

import (
	"iter"
	"math"
)

// Log is a store's commits, each with the rows that it added, or with their sums. A snapshot sees the
// commits up to its own. The caller serializes the calls.
type Log[R any] struct {
	commits []commit[R]
}

type commit[R any] struct {
	id    uint64
	added R
}

// Add adds a commit. Commits may be added in any order.
func (l *Log[R]) Add(id uint64, added R) { l.commits = append(l.commits, commit[R]{id, added}) }

// Len returns the number of commits.
func (l *Log[R]) Len() int { return len(l.commits) }

// Last returns the ID of the last added commit, 0 without one.
func (l *Log[R]) Last() uint64 {
	if len(l.commits) == 0 {
		return 0
	}
	return l.commits[len(l.commits)-1].id
}

// Until yields the commits up to ID last, with their IDs, in the order of Add.
func (l *Log[R]) Until(last uint64) iter.Seq2[uint64, R] {
	return func(yield func(uint64, R) bool) {
		for _, c := range l.commits {
			if c.id <= last && !yield(c.id, c.added) {
				return
			}
		}
	}
}

// All yields all commits, in the order of Add.
func (l *Log[R]) All() iter.Seq2[uint64, R] { return l.Until(math.MaxUint64) }

// Take removes and returns the commits up to ID last.
func (l *Log[R]) Take(last uint64) (taken []R) {
	left := l.commits[:0]
	for _, c := range l.commits {
		if c.id > last {
			left = append(left, c)
		} else {
			taken = append(taken, c.added)
		}
	}
	clear(l.commits[len(left):])
	l.commits = left
	return taken
}

// Sum stands for rows where a test has too many to keep: their number, the sum of their values, and a
// checksum of values with their times that distinguishes multisets.
type Sum struct {
	Rows, Sum int64
	Check     uint64
}

// Add adds a row.
func (s *Sum) Add(value, at int64) {
	h := (uint64(value)*0x9e3779b97f4a7c15 ^ uint64(at)) * 0xbf58476d1ce4e5b9
	s.Rows++
	s.Sum += value
	s.Check += h ^ h>>29
}

// Plus returns the sum of both.
func (s Sum) Plus(t Sum) Sum { return Sum{s.Rows + t.Rows, s.Sum + t.Sum, s.Check + t.Check} }

// Floor rounds down to a multiple of width, toward minus infinity. A retention's floor is the newest time
// minus the retention.
func Floor(t, width int64) int64 {
	n := t / width
	if t%width < 0 {
		n--
	}
	return n * width
}

// Range returns the first and the last time in the range of a width that contains `at`, all times for width
// 0.
func Range(at, width int64) (first, last int64) {
	if width == 0 {
		return math.MinInt64, math.MaxInt64
	}
	within := at % width
	if within < 0 {
		within += width
	}
	first, last = math.MinInt64, math.MaxInt64
	if at >= math.MinInt64+within {
		first = at - within
	}
	if rest := width - 1 - within; at <= math.MaxInt64-rest {
		last = at + rest
	}
	return first, last
}
