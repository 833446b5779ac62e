package fanout

import (
	"errors"
	"slices"
	"strings"
	"testing"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// TestPprofOf finds the profile in an answer, and none in bytes that are cut or of another shape.
func TestPprofOf(t *testing.T) {
	whole := []byte("\x0a\x00\x2a\x07\x0a\x05later\x2a\x06\x0a\x04last")
	for text, want := range map[string]string{
		string(whole): "last", "\x2a\x07\x0a\x05later": "later", "": "", "\x2a\x00": "", "\x28\x07": "", "\x2a\x02\x08\x01": "", "\xff\xff": "", "\x2a\x09\x0a\x05later": "",
	} {
		if got := pprofOf([]byte(text)); string(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for i := range whole {
		if got := pprofOf(whole[:i]); string(got) == "last" || len(got) > 5 {
			t.Errorf("cut at %d: %q", i, got)
		}
	}
}

func FuzzPprofOf(f *testing.F) {
	f.Add([]byte("\x0a\x00\x2a\x07\x0a\x05later\x2a\x06\x0a\x04last"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := pprofOf(data); len(got) > len(data) {
			t.Errorf("%d bytes of %d", len(got), len(data))
		}
	})
}

// TestKinds_Hostile: an answer without kinds is one of no Granary, or of another version.
func TestKinds_Hostile(t *testing.T) {
	n := &node{url: "http://a"}
	for _, header := range []string{"", "null", "{}", "[", `[{"Name":1}]`, `[{"Types":"x"}]`, "[" + strings.Repeat(`{"Name":"a"},`, 10_000) + `{}]`} {
		if err := (kindsOf{}).add(n, header); !errors.Is(err, fault.ErrNode) {
			t.Errorf("%q: %v", header, err)
		}
	}
	delay := profile.Type{Sample: "delay"}
	block, err := EncodeKinds([]profile.ProfileKind{{Name: "block", Types: []profile.Type{delay}}, {Name: "memory", Types: []profile.Type{{Sample: "space"}}}}, delay)
	if err != nil || strings.Contains(block, "memory") {
		t.Fatal(block, err)
	}
	of := kindsOf{}
	for range 2 { // one kind of two nodes
		if err := of.add(n, block); err != nil {
			t.Fatal(err)
		}
	}
	if err := of.check(); err != nil {
		t.Error(err)
	}
	if err := of.add(n, `[{"Name":"mutex","Types":[{"Sample":"delay"},{"Sample":"contentions"}]}]`); err != nil {
		t.Fatal(err)
	}
	if err := of.check(profile.Type{Sample: "contentions"}); err != nil {
		t.Error(err)
	}
	if err := of.check(delay); !errors.Is(err, profile.ErrMixed) {
		t.Errorf("two kinds of delays: %v", err)
	}
}

// TestLineSums adds up lines, and keeps those with the greatest sums: of equal ones, those with lesser labels.
func TestLineSums(t *testing.T) {
	line := func(pod string, values ...float64) *typesv1.Series {
		s := &typesv1.Series{Labels: []*typesv1.LabelPair{{Name: "pod", Value: pod}}}
		for i, v := range values {
			s.Points = append(s.Points, &typesv1.Point{Timestamp: int64(i), Value: v})
		}
		return s
	}
	sums := lineSums{lines: map[string]*lineSum{}}
	for _, lines := range [][]*typesv1.Series{{line("c", 1, 2), line("a", 3)}, {line("b", 2, 1), line("c", 0, 0, 4)}} {
		if err := sums.add(&node{}, &querierv1.SelectSeriesResponse{Series: lines}); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int][]string{0: {"a", "b", "c"}, 1: {"c"}, 2: {"a", "c"}, 9: {"a", "b", "c"}} {
		var got []string
		for _, l := range sums.top(most) {
			got = append(got, l.GetLabels()[0].GetValue())
		}
		if !slices.Equal(got, want) {
			t.Errorf("top %d: %q, want %q", most, got, want)
		}
	}
	if points := sums.top(1)[0].GetPoints(); len(points) != 3 || points[1].GetValue() != 2 || points[2].GetValue() != 4 {
		t.Errorf("points %v", points)
	}
}
