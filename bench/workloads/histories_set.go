package workloads

import (
	"errors"
	"fmt"
	"os"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/internal/ihs"
)

// historyBatch is about the number of intervals in a commit. Intervals with equal times are in one commit.
const historyBatch = 10_000

// HistorySet is a set of intervals in the form that a history takes.
type HistorySet struct {
	set        *ihs.Set
	attributes []history.Attribute // by interval
	values     []history.Value     // by interval
}

// OpenHistorySet reads a set: a file, or synth:ATTRIBUTES:CHANGES.
func OpenHistorySet(name string) (*HistorySet, error) {
	set, err := ihs.Open(name, ihs.Limits{})
	if err != nil {
		return nil, err
	}
	return &HistorySet{set: set, attributes: attributesOf(set), values: valuesOf(set)}, nil
}

// Attributes returns the number of attributes.
func (s *HistorySet) Attributes() int { return s.set.Header.Keys }

// Intervals returns the number of intervals.
func (s *HistorySet) Intervals() int { return s.set.Len() }

// valuesOf returns the values of a set's intervals.
func valuesOf(set *ihs.Set) []history.Value {
	values := make([]history.Value, set.Len())
	for i := range values {
		switch in := set.At(i); in.Kind {
		case ihs.KindInt, ihs.KindLong:
			values[i] = history.Int(in.Int())
		case ihs.KindFloat:
			values[i] = history.Float(in.Float())
		case ihs.KindString:
			values[i] = history.String(in.Text)
		}
	}
	return values
}

// attributesOf returns the attributes of a set's intervals.
func attributesOf(set *ihs.Set) []history.Attribute {
	attributes := make([]history.Attribute, set.Len())
	for i, key := range set.Keys {
		attributes[i] = history.Attribute(key)
	}
	return attributes
}

// New returns a history with the set's attributes and no intervals.
func (s *HistorySet) New() (*history.History, error) { return s.named(false) }

// named is New for a history that can keep journals.
func (s *HistorySet) named(journal bool) (*history.History, error) {
	h, err := history.New(history.Options{Start: s.set.Header.Start, Journal: journal})
	if err != nil {
		return nil, err
	}
	return h, s.name(h)
}

// name adds the set's attributes to a new history.
func (s *HistorySet) name(h *history.History) error {
	set := s.set
	tx, err := h.Begin()
	if err != nil {
		return err
	}
	for key := range set.Header.Keys {
		parent, name := history.Top, fmt.Sprint("a", key)
		if len(set.Attributes) > 0 {
			name = set.Attributes[key].Name
			if p := set.Attributes[key].Parent; p >= 0 {
				parent = history.Attribute(p)
			}
		}
		if a, err := tx.Child(parent, name); err != nil || int(a) != key {
			return errors.Join(err, fmt.Errorf("attribute %d is %d", key, a))
		}
	}
	_, err = tx.Commit()
	return err
}

// Write writes the set's history, with its names, to a new file, and compares the file with the set. It
// returns the file's bytes.
func (s *HistorySet) Write(path string) (bytes int64, err error) {
	w, err := file.Create(path, file.Options{Provider: "bench", History: history.Options{Start: s.set.Header.Start}})
	if err != nil {
		return 0, err
	}
	if err = s.name(w.History); err == nil {
		_, err = s.Feed(w.History)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	r, err := file.Open(path, file.Options{Provider: "bench"})
	if err != nil {
		return 0, err
	}
	return info.Size(), errors.Join(s.Check(r.View), r.Close())
}

// Feed adds all intervals as columns, with one call per commit, and closes the history.
func (s *HistorySet) Feed(h *history.History) (*history.View, error) {
	return s.feed(h, func(*history.Draft) {})
}

// feed is Feed that also calls f before each commit.
func (s *HistorySet) feed(h *history.History, f func(*history.Draft)) (*history.View, error) {
	set := s.set
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	for lo, hi := 0, 0; lo < set.Len(); lo = hi {
		for hi = min(lo+historyBatch, set.Len()); hi < set.Len() && set.Ends[hi] == set.Ends[hi-1]; hi++ {
		}
		if lo > 0 {
			f(tx)
			if tx, err = nextBatch(h, tx); err != nil {
				return nil, err
			}
		}
		if _, err := tx.AddAll(s.attributes[lo:hi], set.Starts[lo:hi], set.Ends[lo:hi], s.values[lo:hi]); err != nil {
			return nil, err
		}
	}
	if err := tx.Close(set.Header.End); err != nil {
		return nil, err
	}
	f(tx)
	return tx.Commit()
}

// feedIntervals adds the intervals one by one.
func (s *HistorySet) feedIntervals(h *history.History) (*history.View, error) {
	set, values := s.set, s.values
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	for i, n := 0, 0; i < set.Len(); i, n = i+1, n+1 {
		if n >= historyBatch && set.Ends[i] != set.Ends[i-1] {
			if tx, err = nextBatch(h, tx); err != nil {
				return nil, err
			}
			n = 0
		}
		if err := tx.Add(history.Attribute(set.Keys[i]), set.Starts[i], set.Ends[i], values[i]); err != nil {
			return nil, err
		}
	}
	if err := tx.Close(set.Header.End); err != nil {
		return nil, err
	}
	return tx.Commit()
}

// feedChanges adds the intervals as changes, ordered by start. It commits before each new start in the last
// eighth of every historyBatch changes.
func (s *HistorySet) feedChanges(h *history.History, byStart []int) (*history.View, error) {
	set, values := s.set, s.values
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	last := set.Header.Start
	for n, i := range byStart {
		if n%historyBatch >= historyBatch-historyBatch/8 && set.Starts[i] != last && n > 0 {
			if tx, err = nextBatch(h, tx); err != nil {
				return nil, err
			}
		}
		last = set.Starts[i]
		if err := tx.Change(last, history.Attribute(set.Keys[i]), values[i]); err != nil {
			return nil, err
		}
	}
	if err := tx.Close(set.Header.End); err != nil {
		return nil, err
	}
	return tx.Commit()
}

func nextBatch(h *history.History, tx *history.Draft) (*history.Draft, error) {
	if _, err := tx.Commit(); err != nil {
		return nil, err
	}
	return h.Begin()
}

// Check compares every seventh interval in the set with the state in a view.
func (s *HistorySet) Check(view *history.View) error {
	set, values := s.set, s.values
	for i := 0; i < set.Len(); i += 7 {
		at := set.Starts[i] + (set.Ends[i]-set.Starts[i])*int64(i%3)/2
		in, err := view.At(history.Attribute(set.Keys[i]), at)
		if err != nil || in.Start != set.Starts[i] || in.End != set.Ends[i] || !in.Value.Equal(values[i]) {
			return fmt.Errorf("attribute %d at %d is %+v, %w; want interval %d", set.Keys[i], at, in, err, i)
		}
	}
	return nil
}
