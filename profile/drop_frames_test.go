package profile

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
)

// Frames are dropped from a profile by its own patterns, before anything else, unless all frames
// are asked for.
func TestDropFrames(t *testing.T) {
	p := makeProfile(start, "n:count",
		stack{frames: "deep malloc +inlined f main", values: []int64{1}},
		stack{frames: "malloc.x g main", values: []int64{10}},
		stack{frames: "malloc", values: []int64{100}},
		stack{frames: "f malloc main", values: []int64{1000}})
	p.DropFrames, p.KeepFrames = "malloc.*", "malloc[.]x"
	other := makeProfile(start, "n:count", stack{frames: "malloc f main", values: []int64{20000}})
	for _, tc := range []struct {
		all  bool
		want map[string]int64
	}{
		{false, map[string]int64{"inlined f main": 1, "malloc.x g main": 10, "malloc": 100, "main": 1000, "malloc f main": 20000}},
		{true, map[string]int64{"deep malloc inlined f main": 1, "malloc.x g main": 10, "malloc": 100, "f malloc main": 1000, "malloc f main": 20000}},
	} {
		db := testDB(t, Options{})
		_, plain := encoded(t, p)
		for range 2 { // the second time with the memory of the first
			if _, err := db.InsertEncoded(ctx, plain, InsertOptions{AllFrames: tc.all}); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Insert(ctx, p, InsertOptions{AllFrames: tc.all}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := db.Insert(ctx, other, InsertOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		stacks, err := db.Merge(ctx, view(t, db), cpuCount, Query{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for frames, value := range stacks.All() {
			name := ""
			for i, f := range frames {
				if i > 0 {
					name += " "
				}
				name += f.Function
			}
			got[name] = value / 4
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("all frames: %t: -want +got\n%s", tc.all, diff)
		}
		// A condition does not see dropped frames.
		deep, err := db.Merge(ctx, view(t, db), cpuCount, Query{Function: regexp.MustCompile("^deep$")})
		if err != nil || (deep.Len() > 0) != tc.all {
			t.Errorf("all frames: %t: %d stacks with a dropped frame, %v", tc.all, deep.Len(), err)
		}
	}
	if p.DropFrames == "" || len(p.Sample[0].Location) != 4 || len(p.Sample[0].Location[1].Line) != 2 {
		t.Errorf("the caller's profile is %v", p)
	}
}

// The difference of cumulative profiles is that of their stacks without the dropped frames.
func TestDropFramesOfDeltas(t *testing.T) {
	db, deltas := testDB(t, Options{}), NewDeltas(DeltaOptions{Types: []string{"n"}})
	for i := range int64(2) {
		p := makeTotals(start+i, "n:count",
			stack{frames: []string{"x", "y"}[i] + " malloc main", values: []int64{10 + 5*i}}, stack{frames: "main", values: []int64{1 + i}})
		p.DropFrames = "malloc"
		if _, err := db.Insert(ctx, p, InsertOptions{Deltas: deltas}); err != nil {
			t.Fatal(err)
		}
	}
	stacks, err := db.Merge(ctx, view(t, db), cpuCount, Query{})
	if err != nil || stacks.Total != 6 || stacks.Len() != 1 {
		t.Errorf("%+v, %v", stacks, err)
	}
}

// The merge of a store is that of go tool pprof, which drops frames from the merge of all files by
// the patterns of the first, if the patterns are equal.
func TestDropFramesOfInlinedMerge(t *testing.T) {
	db := testDB(t, Options{})
	var all []*pprof.Profile
	for i := range int64(3) {
		p := makeProfile(start+i, "n:count", stack{frames: "a +malloc +b c", values: []int64{1}}, stack{frames: "b +malloc c", values: []int64{2}}, stack{frames: "malloc +c", values: []int64{4 << i}})
		p.DropFrames = "malloc"
		insert(t, db, p)
		all = append(all, p)
	}
	want, err := pprof.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := want.RemoveUninteresting(); err != nil {
		t.Fatal(err)
	}
	got, err := db.Profile(ctx, view(t, db), Query{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answerOf(want), answerOf(got)); diff != "" {
		t.Errorf("-pprof +granary\n%s", diff)
	}
}
