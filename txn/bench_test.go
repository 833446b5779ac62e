package txn

import "testing"

func BenchmarkCommit(b *testing.B) {
	l := New(0)
	b.ReportAllocs()
	for b.Loop() {
		l.Begin().Commit(func(_ ID, current *Root[int]) (Next[int], error) { return Next[int]{State: current.State + 1}, nil })
	}
}

func BenchmarkSnapshot(b *testing.B) {
	l := New(0)
	b.ReportAllocs()
	for b.Loop() {
		var s Handle[int]
		s.Take(l)
		s.State()
		s.Close()
	}
}
