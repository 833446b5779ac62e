package profile

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
)

// framePatterns match some texts of drawFrames.
var framePatterns = []*regexp.Regexp{
	nil, nil, regexp.MustCompile("a"), regexp.MustCompile("^b$"), regexp.MustCompile("[.]go"), regexp.MustCompile("^$"),
	regexp.MustCompile("lib"), regexp.MustCompile("(?i)A|C"), regexp.MustCompile("nothing"),
}

// drawFrames draws a profile with all kinds of locations: without lines, without functions,
// names, files or a mapping.
func drawFrames(t *rapid.T) *pprof.Profile {
	p := makeProfile(start, "n:count")
	text := rapid.SampledFrom([]string{"", "a", "b", "c"})
	p.Mapping = append(p.Mapping, &pprof.Mapping{ID: 2, Start: 0x10000, Limit: 0x20000, File: "/lib/a.so", BuildID: "b1"}, &pprof.Mapping{ID: 3, Start: 0x30000, Limit: 0x40000})
	for i := range 9 {
		p.Function = append(p.Function, &pprof.Function{
			ID: uint64(i + 1), Name: text.Draw(t, "name"), Filename: rapid.SampledFrom([]string{"", "a.go", "b.go"}).Draw(t, "file"),
		})
	}
	for i := range 9 {
		l := &pprof.Location{ID: uint64(i + 1), Address: uint64(i)}
		if m := rapid.SampledFrom(append(p.Mapping[:3:3], nil)).Draw(t, "mapping"); m != nil {
			l.Mapping, l.Address = m, m.Start+uint64(i)
		}
		for range rapid.IntRange(0, 3).Draw(t, "lines") {
			l.Line = append(l.Line, pprof.Line{Line: int64(i), Function: rapid.SampledFrom(p.Function).Draw(t, "function")})
		}
		p.Location = append(p.Location, l)
	}
	for i := range 8 {
		p.Sample = append(p.Sample, &pprof.Sample{
			Value: []int64{1 << i}, Location: slices.Clone(rapid.SliceOfN(rapid.SampledFrom(p.Location), 0, 4).Draw(t, "stack")),
		})
	}
	return p
}

// Conditions on names, and hidden frames, choose the samples and frames that pprof's options
// -focus, -ignore, -hide and -show choose.
func TestFramesEqualPprof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db := openDB(t, Options{})
		defer db.store.Close()
		p := drawFrames(t)
		insert(t, db, p)
		pattern := rapid.SampledFrom(framePatterns)
		focus, ignore, hide, show := pattern.Draw(t, "focus"), pattern.Draw(t, "ignore"), pattern.Draw(t, "hide"), pattern.Draw(t, "show")
		q := Query{Hide: hide, Show: show}
		if focus != nil {
			q.Frames = append(q.Frames, FrameCondition{Name: focus})
		}
		if ignore != nil {
			q.Frames = append(q.Frames, FrameCondition{Name: ignore, Not: true})
		}
		snap, err := db.store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		got, err := db.Profile(ctx, snap, q)
		if err != nil {
			t.Fatal(err)
		}
		want := p.Copy()
		want.FilterSamplesByName(focus, ignore, hide, show)
		if diff := gocmp.Diff(answerOf(want).Samples, answerOf(got).Samples); diff != "" {
			t.Fatalf("focus %v, ignore %v, hide %v, show %v: -pprof +granary\n%s", focus, ignore, hide, show, diff)
		}
	})
}

// Answers that leave out different frames have no difference.
func TestDiffOfHiddenFrames(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count", stack{frames: "c b a", values: []int64{1}}, stack{frames: "b a", values: []int64{2}})
	insert(t, db, p)
	snap := view(t, db)
	merge := func(q Query) *Stacks {
		s, err := db.Merge(ctx, snap, typeListOf(p).Types[0], q)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all, shown := merge(Query{}), merge(Query{Hide: regexp.MustCompile("c")})
	if diff := gocmp.Diff([]Function{{"b", 3, 3}, {"a", 0, 3}}, shown.Top()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if searched(t, shown, regexp.MustCompile("c")).Len() != 0 || searched(t, shown, regexp.MustCompile("b")).Len() != 2 {
		t.Error("a search finds frames that are left out, or not the others")
	}
	if _, err := DiffTop(all, shown); !errors.Is(err, ErrMixed) {
		t.Errorf("difference of other frames: %v", err)
	}
	d, err := DiffTop(shown, merge(Query{Hide: regexp.MustCompile("c"), From: start + 1}))
	want := []FunctionChange{{Function{"b", -3, -3}, FunctionCost{3, 3}, FunctionCost{}}, {Function{"a", 0, -3}, FunctionCost{0, 3}, FunctionCost{}}}
	if diff := gocmp.Diff(want, d); diff != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}

// DecodeLocation gives what the record of a location has, to a Scan and to conditions.
func TestDecodeLocation(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count", stack{frames: "deep+caller ? root", values: []int64{1}})
	p.Mapping[0].Offset, p.Mapping[0].BuildID = 0x200, "b1"
	p.Location[1].Line = nil
	insert(t, db, p)
	var got []Location
	where := columnstore.HasElement(ColumnStacktrace, func(_ uuid.UUID, record []byte) bool {
		l, err := DecodeLocation(record)
		if err != nil {
			t.Error(err)
		}
		got = append(got, l)
		return true
	})
	for rec, err := range db.Scan(ctx, view(t, db), Query{}, columnstore.ScanOptions{Where: where}) {
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	slices.SortFunc(got, func(a, b Location) int { return int(a.Address) - int(b.Address) })
	want := []Location{
		{"/usr/bin/app", "b1", 0x200, []Frame{{Function: "deep", File: "deep.go", Line: 1, Inlined: true, Mapping: "/usr/bin/app"}, {Function: "caller", File: "caller.go", Line: 2, Inlined: false, Mapping: "/usr/bin/app"}}},
		{"/usr/bin/app", "b1", 0x201, []Frame{{Function: "[app]", Mapping: "/usr/bin/app"}}},
		{"/usr/bin/app", "b1", 0x202, []Frame{{Function: "root", File: "root.go", Line: 1, Inlined: false, Mapping: "/usr/bin/app"}}},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if l, err := DecodeLocation(nil); err != nil || len(l.Frames) != 1 || l.Frames[0].Function != "<unknown>" {
		t.Errorf("of no record: %v, %v", l, err)
	}
	if l, err := DecodeLocation([]byte("not a record")); !errors.Is(err, ErrLocation) {
		t.Errorf("of other bytes: %v, %v", l, err)
	}
}
