package main

import (
	"math"
	"unsafe"

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

func (h *historyStore) Load([]block.Interval) (err error) {
	h.view, err = h.set.Feed(h.history)
	return err
}

func (h *historyStore) Bytes() (int64, error) {
	h.image = h.view.AppendImage(nil)
	return int64(len(h.image)), nil
}

func (h *historyStore) Reopen() (err error) {
	h.history, h.view, err = history.OpenImage(history.Options{}, h.image)
	return err
}

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
		text := in.Value.Text()
		out.Kind, out.Text = block.String, unsafe.Slice(unsafe.StringData(text), len(text))
	}
	return out
}

func (h *historyStore) Single(key uint32, at int64) (block.Interval, bool, error) {
	in, err := h.view.At(history.Attribute(key), at)
	return interval(history.Attribute(key), in), err == nil, err
}

func (h *historyStore) Full(at int64, f func(block.Interval)) error {
	slice, err := h.view.Slice(at)
	if err == nil {
		for a, in := range slice.All() {
			f(interval(a, in))
		}
	}
	return err
}

func (h *historyStore) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	found, err := h.sample(keys, times)
	if err == nil {
		for i := range found.Len() {
			a, in := found.At(i)
			f(interval(a, in))
		}
	}
	return err
}

func (h *historyStore) sample(keys []uint32, times []int64) (*history.Intervals, error) {
	attributes := make([]history.Attribute, len(keys))
	for i, key := range keys {
		attributes[i] = history.Attribute(key)
	}
	return h.view.Sample(attributes, times)
}

// The lists are what a history answers.
func (h *historyStore) fullList(at int64) (int, error) {
	slice, err := h.view.Slice(at)
	if err != nil {
		return 0, err
	}
	return slice.Len(), nil
}

func (h *historyStore) planeList(keys []uint32, times []int64) (int, error) {
	found, err := h.sample(keys, times)
	if err != nil {
		return 0, err
	}
	return found.Len(), nil
}
