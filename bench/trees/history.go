package main

import (
	"fmt"
	"math"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/workloads"
	"github.com/granarydb/granary/history"
)

// historyStore is package history. Its file is an image.
type historyStore struct {
	local
	set     *workloads.HistorySet
	history *history.History
	view    *history.View
	image   []byte
}

func newHistoryStore(s *intervals) (*historyStore, error) {
	set, err := workloads.OpenHistorySet(s.name)
	if err != nil {
		return nil, err
	}
	h, err := set.New()
	return &historyStore{set: set, history: h}, err
}

func (h *historyStore) load([]block.Interval) (err error) {
	h.view, err = h.set.Feed(h.history)
	return err
}

func (h *historyStore) size() (size, error) {
	h.image = h.view.AppendImage(nil)
	return size{bytes: int64(len(h.image))}, nil
}

func (h *historyStore) reopen() (err error) {
	h.history, h.view, err = history.OpenImage(history.Options{}, h.image)
	return err
}

func (*historyStore) close() error { return nil }

// interval is a history's interval in the form of the others. A history has one kind of whole
// numbers.
func interval(a history.Attribute, in history.Interval) block.Interval {
	out := block.Interval{Key: uint32(a), Start: in.Start, End: in.End}
	switch in.Value.Kind() {
	case history.KindInt:
		out.Kind, out.Word = block.Long, uint64(in.Value.Int())
	case history.KindFloat:
		out.Kind, out.Word = block.Float, math.Float64bits(in.Value.Float())
	case history.KindString:
		out.Kind, out.Text = block.String, []byte(in.Value.Text())
	}
	return out
}

func (h *historyStore) Single(key uint32, at int64) (block.Interval, bool, error) {
	in, err := h.view.At(history.Attribute(key), at)
	return interval(history.Attribute(key), in), err == nil, err
}

func (h *historyStore) Full(at int64, f func(block.Interval)) error {
	slice, err := h.view.Slice(at)
	if err != nil {
		return err
	}
	for a, in := range slice.All() {
		f(interval(a, in))
	}
	return nil
}

func (h *historyStore) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	found, err := h.sample(keys, times)
	if err != nil {
		return err
	}
	for i := range found.Len() {
		a, in := found.At(i)
		f(interval(a, in))
	}
	return nil
}

func (h *historyStore) sample(keys []uint32, times []int64) (*history.Intervals, error) {
	attributes := make([]history.Attribute, len(keys))
	for i, key := range keys {
		attributes[i] = history.Attribute(key)
	}
	return h.view.Sample(attributes, times)
}

// questions asks for lists, which are answers of a history.
func (h *historyStore) questions(s *intervals) asker {
	return asker{
		single: func(q single) error {
			in, err := h.view.At(history.Attribute(q.key), q.at)
			if err != nil {
				return err
			}
			return s.wrong(q, in.Start, in.End)
		},
		full: func(at int64) (int, error) {
			slice, err := h.view.Slice(at)
			if err != nil {
				return 0, fmt.Errorf("all at %d: %w", at, err)
			}
			return slice.Len(), nil
		},
		plane: func(keys []uint32) (int, error) {
			found, err := h.sample(keys, s.times)
			if err != nil {
				return 0, err
			}
			return found.Len(), nil
		},
	}
}
