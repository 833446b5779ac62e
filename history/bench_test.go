package history

import (
	"runtime"
	"testing"
)

func BenchmarkBuild(b *testing.B) {
	s := loadSet(b, "many-threads")
	h, _ := New(Options{Start: s.Header.Start})
	w, _ := h.Begin()
	for k := range s.Attributes {
		parent := Root
		if p := s.Attributes[k].Parent; p >= 0 {
			parent = Attribute(p)
		}
		w.Child(parent, s.Attributes[k].Name)
	}
	w.Commit()
	_ = h
	for b.Loop() {
		b.StopTimer()
		h, _ := New(Options{Start: s.Header.Start})
		w, _ := h.Begin()
		for k := range s.Attributes {
			parent := Root
			if p := s.Attributes[k].Parent; p >= 0 {
				parent = Attribute(p)
			}
			w.Child(parent, s.Attributes[k].Name)
		}
		w.Commit()
		runtime.GC()
		b.StartTimer()
		feed(b, h, s, 10000)
	}
}

func BenchmarkSampleThreads(b *testing.B) {
	s := loadSet(b, "many-threads")
	_, v := buildSet(b, s, 10000)
	th, _ := v.Lookup("Threads")
	var all []Attribute
	for a := range v.Children(th) {
		all = append(all, a)
	}
	times := pixelTimes(s.Header.Start, s.Header.End, 2000)
	for b.Loop() {
		v.Sample(all, times)
	}
}

func BenchmarkSlice(b *testing.B) {
	s := loadSet(b, "many-threads")
	_, v := buildSet(b, s, 10000)
	sl := v.newSlice(nil)
	t := s.Header.Start
	step := (s.Header.End - s.Header.Start) / 1009 * 377
	for b.Loop() {
		t = s.Header.Start + (t+step-s.Header.Start)%(s.Header.End-s.Header.Start)
		sl.fill(t)
	}
}
