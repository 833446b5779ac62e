package tracks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// paths are the different paths of a view's states, in order.
func paths(all []held) (of []string) {
	for _, h := range all {
		of = append(of, h.Path)
	}
	return slices.Compact(of)
}

// TestNames_Long numbers long names that are equal, and cuts none of them within a letter.
func TestNames_Long(t *testing.T) {
	s := New()
	long := "x" + strings.Repeat("é", 3000)
	for range 3 {
		track := s.Add(Outermost)
		s.Rename(track, long)
		s.Slice(s.Nest(track), s.Text([]byte("a")), 1, 2)
	}
	got, _, _ := written(t, s)
	of := paths(got)
	if len(of) != 3 || !strings.HasSuffix(of[0], "é (2)/1") || !strings.HasSuffix(of[1], "é (3)/1") {
		t.Errorf("%d paths: %.20q", len(of), of)
	}
	for _, path := range of {
		if !utf8.ValidString(path) || len(path) > maxText+len("\ufffd/1") {
			t.Errorf("a path of %d bytes", len(path))
		}
	}
}

// TestNames_Work numbers many long names, each of them twice, in time that grows with their number.
func TestNames_Work(t *testing.T) {
	s := New()
	const n = 2000
	for i := range 2 * n {
		s.Rename(s.Add(Outermost), fmt.Sprintf("%s%05d", strings.Repeat("x", maxText-5), i%n))
	}
	names, before := s.names(nil), len(s.texts)
	slices.Sort(names)
	if len(slices.Compact(names)) != 2*n+1 || before > 2*n+n+1 {
		t.Errorf("%d names, %d texts", len(names), before)
	}
}

// TestNames_Rows gives a track another name than the levels and lanes beside it, which may have values of another kind.
func TestNames_Rows(t *testing.T) {
	s := New()
	parent := s.Child(Outermost, "thread")
	nest := s.Nest(parent)
	s.Slice(nest, s.Text([]byte("a")), 1, 10)
	s.Slice(nest, s.Text([]byte("b")), 2, 20)
	for _, name := range []string{"1", "2", "lane 2"} {
		s.Count(s.Counter(s.Child(parent, name)), 3, 7)
	}
	got, _, _ := written(t, s)
	want := []string{"thread/1", "thread/1 (2)", "thread/2", "thread/lane 2/1", "thread/lane 2 (2)"}
	slices.Sort(want)
	if of := paths(got); !slices.Equal(of, want) {
		t.Errorf("%q, want %q", of, want)
	}
}

// TestCounter_Shared makes numbers of two counters on one track floats if one of them has floats.
func TestCounter_Shared(t *testing.T) {
	s := New()
	track := s.Child(Outermost, "heap")
	s.Count(s.Counter(track), 1, 3)
	s.CountFloat(s.Counter(track), 2, 1.5)
	s.Count(s.Counter(track), 3, 4)
	got, _, _ := written(t, s)
	if want := "[heap 1-1 3 heap 2-2 1.5 heap 3-3 4]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
