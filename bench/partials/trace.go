package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/internal/ihs"
)

// event is a change of one attribute, or of a processor's thread and state.
type event struct {
	key          uint32
	value, state history.Value
}

// states takes an event's states, for a whole history or a part.
type states interface {
	Attribute(path ...string) (history.Attribute, error)
	Change(a history.Attribute, v history.Value) error
}

// trace is a set's events, and their meaning.
type trace struct {
	partial.Events[event]
	name       string
	start, end int64
	provide    func(w states, e event) error
}

// openTrace opens or makes a set.
func openTrace(name string) (*trace, error) {
	if text, isFew := strings.CutPrefix(name, "few:"); isFew {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of events", text)
		}
		return newFew(name, n), nil
	}
	s, err := ihs.Open(name, ihs.Limits{})
	if err != nil {
		return nil, err
	}
	l := &list{}
	for _, i := range s.ByStart() {
		in := s.At(i)
		e := event{key: in.Key}
		switch in.Kind {
		case ihs.KindInt, ihs.KindLong:
			e.value = history.Int(in.Int())
		case ihs.KindFloat:
			e.value = history.Float(in.Float())
		case ihs.KindString:
			e.value = history.String(in.Text)
		}
		l.at, l.events = append(l.at, in.Start), append(l.events, e)
	}
	paths := make([][]string, len(s.Attributes))
	for key := range paths {
		paths[key] = s.Path(key)
	}
	return &trace{l, filepath.Base(name), s.Header.Start, s.Header.End, func(w states, e event) error {
		a, err := w.Attribute(paths[e.key]...)
		if err != nil {
			return err
		}
		return w.Change(a, e.value)
	}}, nil
}

// list is events in memory; a position is an event's number.
type list struct {
	at     []int64
	events []event
}

// Open implements partial.Events.
func (l *list) Open(_ context.Context, position []byte) (partial.Reader[event], error) {
	next, _ := binary.Uvarint(position) // 0 for the first event
	return &listReader{l, int(next)}, nil
}

type listReader struct {
	*list
	next int
}

// Next implements partial.Reader.
func (r *listReader) Next() (int64, event, error) {
	if r.next == len(r.at) {
		return 0, event{}, io.EOF
	}
	r.next++
	return r.at[r.next-1], r.events[r.next-1], nil
}

// Position implements partial.Reader.
func (r *listReader) Position() ([]byte, error) {
	return binary.AppendUvarint(nil, uint64(r.next)), nil
}

// Close implements partial.Reader.
func (r *listReader) Close() error { return nil }
