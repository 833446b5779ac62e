package events

import (
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
)

// Set returns a set from package recorded, its intervals as changes in the order of their starts, and a
// function that returns its attributes' paths.
func Set(t testing.TB, name string) (s *ihs.Set, l List, path func(n int) []string) {
	t.Helper()
	s = recorded.Open(t, name)
	return s, changes(s), paths(s)
}

// ValueOf returns an interval's value.
func ValueOf(in ihs.Interval) history.Value {
	switch in.Kind {
	case ihs.KindInt, ihs.KindLong:
		return history.Int(in.Int())
	case ihs.KindFloat:
		return history.Float(in.Float())
	case ihs.KindString:
		return history.String(in.Text)
	}
	return history.Value{}
}

func changes(s *ihs.Set) (l List) {
	for _, i := range s.ByStart() {
		in := s.At(i)
		l = append(l, Event{At: in.Start, N: int(in.Key), Value: ValueOf(in)})
	}
	return l
}

func paths(s *ihs.Set) func(n int) []string {
	paths := make([][]string, len(s.Attributes))
	for key := range paths {
		paths[key] = s.Path(key)
	}
	return func(n int) []string { return paths[n] }
}
