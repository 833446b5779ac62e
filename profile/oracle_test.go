package profile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
)

// P1: merged rows equal the result of google/pprof's Merge, over several time buckets and
// generations, before and after compaction.
func TestMergeEqualsPprof(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db := openDB(rt, Options{})
		defer db.store.Close()
		var inserted []*pprof.Profile
		drop, keep := drawDropped(rt)
		for i := range rapid.IntRange(1, 6).Draw(rt, "profiles") {
			p := drawProfile(rt)
			p.DropFrames, p.KeepFrames = drop, keep
			if rows := insert(rt, db, p, "n", fmt.Sprint(i)); rows != countValues(p) {
				rt.Fatalf("profile %d has %d rows, want %d", i, rows, countValues(p))
			} else if rows > 0 {
				inserted = append(inserted, p)
			}
		}
		for _, step := range []string{"inserted", "compacted"} {
			snap, err := db.store.Snapshot()
			if err != nil {
				rt.Fatal(err)
			}
			checkMerge(rt, step, db, snap, inserted)
			snap.Close()
			if err := db.store.Compact(context.Background()); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func checkMerge(t *rapid.T, step string, db *DB, snap *columnstore.Snapshot, inserted []*pprof.Profile) {
	got, err := db.Profile(context.Background(), snap, Query{})
	if err != nil {
		t.Fatal(err)
	}
	if err := got.CheckValid(); err != nil {
		t.Fatalf("%s: %v", step, err)
	}
	if len(inserted) == 0 {
		if len(got.Sample) != 0 || len(got.SampleType) != 2 {
			t.Fatalf("%s: without rows: %v", step, got)
		}
		return
	}
	want, err := pprof.Merge(inserted)
	if err != nil {
		t.Fatal(err)
	}
	_ = want.RemoveUninteresting() // go tool pprof ignores the error
	if diff := cmp.Diff(answerOf(want), answerOf(got)); diff != "" {
		t.Fatalf("%s: -pprof +granary\n%s", step, diff)
	}
	if len(got.Sample) != len(answerOf(got).Samples) {
		t.Fatalf("%s: %d samples, %d of them differ", step, len(got.Sample), len(answerOf(got).Samples))
	}
	if got.DropFrames+got.KeepFrames != "" {
		t.Fatalf("%s: the patterns would be applied twice", step)
	}
	for i := range want.SampleType {
		checkStacks(t, step, db, snap, want, i)
	}
}

// checkStacks compares the sums of one type by stack and by function with sums computed sample
// by sample. It also checks the flame graph.
func checkStacks(t *rapid.T, step string, db *DB, snap *columnstore.Snapshot, of *pprof.Profile, index int) {
	got, err := db.Merge(context.Background(), snap, typeListOf(of).Types[index], Query{})
	if err != nil {
		t.Fatal(err)
	}
	sums, gotSums := map[string]int64{}, map[string]int64{}
	top := map[string]Function{}
	var total int64
	for _, s := range of.Sample {
		v := s.Value[index]
		frames := framesOf(s)
		total += v
		sums[fmt.Sprint(frames)] += v
		seen := map[string]bool{}
		for depth, f := range frames {
			entry := top[f.Function]
			entry.Name = f.Function
			if depth == 0 {
				entry.Flat += v
			}
			if !seen[f.Function] {
				entry.Cum += v
			}
			seen[f.Function] = true
			top[f.Function] = entry
		}
	}
	stacks := 0
	for frames, value := range got.All() {
		stacks++
		if value == 0 {
			t.Fatalf("%s: All gave a value of 0", step)
		}
		gotSums[fmt.Sprint(frames)] += value
	}
	isZero := func(_ string, v int64) bool { return v == 0 }
	maps.DeleteFunc(sums, isZero)
	maps.DeleteFunc(gotSums, isZero)
	if diff := cmp.Diff(sums, gotSums); diff != "" || total != got.Total || stacks != got.Len() {
		t.Fatalf("%s: stacks: total %d, want %d; %d stacks, Len %d\n%s", step, got.Total, total, stacks, got.Len(), diff)
	}
	gotTop := map[string]Function{}
	for _, f := range got.Top() {
		gotTop[f.Name] = f
	}
	noCost := func(_ string, f Function) bool { return f.Flat == 0 && f.Cum == 0 }
	maps.DeleteFunc(top, noCost)
	maps.DeleteFunc(gotTop, noCost)
	if diff := cmp.Diff(top, gotTop); diff != "" {
		t.Fatalf("%s: top: -want +got\n%s", step, diff)
	}
	checkFlameGraph(t, got)
}

// framesOf returns a sample's frames, named as Frame specifies.
func framesOf(s *pprof.Sample) []Frame {
	var frames []Frame
	for _, l := range s.Location {
		unnamed, binary := "<unknown>", ""
		if l.Mapping != nil {
			binary = l.Mapping.File
		}
		if l.Mapping != nil && l.Mapping.File != "" {
			unnamed = "[" + l.Mapping.File[strings.LastIndexByte(l.Mapping.File, '/')+1:] + "]"
		}
		if len(l.Line) == 0 {
			frames = append(frames, Frame{Function: unnamed, Mapping: binary})
		}
		for i, ln := range l.Line {
			f := Frame{Function: ln.Function.Name, File: ln.Function.Filename, Line: ln.Line, Inlined: i < len(l.Line)-1, Mapping: binary}
			if f.Function == "" {
				f.Function = unnamed
			}
			frames = append(frames, f)
		}
	}
	return frames
}

// checkFlameGraph checks that the values of a flame graph add up and that siblings differ.
func checkFlameGraph(t fataler, s *Stacks) {
	t.Helper()
	var walk func(n *FlameNode) (self int64)
	walk = func(n *FlameNode) int64 {
		total, below := n.Self, n.Self
		seen := map[string]bool{}
		for _, c := range n.Children {
			total += c.Total
			below += walk(c)
			if key := c.Name + "\x00" + c.File; seen[key] {
				t.Fatal("two children are " + key)
			} else {
				seen[key] = true
			}
		}
		if total != n.Total {
			t.Fatal(fmt.Sprintf("%s: total %d, self and children %d", n.Name, n.Total, total))
		}
		return below
	}
	root := s.FlameGraph(FlameGraphOptions{})
	if self := walk(root); self != s.Total || root.Total != s.Total {
		t.Fatal(fmt.Sprintf("self values sum to %d, root %d, want %d", self, root.Total, s.Total))
	}
}

func countValues(p *pprof.Profile) int {
	n := 0
	for _, s := range p.Sample {
		for _, v := range s.Value {
			if v != 0 {
				n++
			}
		}
	}
	return n
}

// drawProfile returns a random profile with few distinct stacks, locations and labels, so that
// they recur. The profile has been encoded and decoded once, since the encoding has no empty
// labels.
func drawProfile(t *rapid.T) *pprof.Profile {
	day := int64(24 * 3600e9)
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"},
		// Profiles can share their time, their bucket or their generation, or nothing.
		TimeNanos:     start + rapid.SampledFrom([]int64{0, 1, 1e9, 901e9, 3600e9, day, 2 * day, -3 * day}).Draw(t, "time"),
		DurationNanos: rapid.Int64Range(0, 20e9).Draw(t, "duration"),
		Period:        rapid.Int64Range(0, 3).Draw(t, "period"),
	}
	drawCode(t, p)
	for range rapid.IntRange(0, 10).Draw(t, "samples") {
		s := &pprof.Sample{Value: rapid.SliceOfN(rapid.SampledFrom([]int64{0, 0, 1, -1, 7, -7, 1 << 40, -1 << 60}), 2, 2).Draw(t, "values")}
		if len(p.Location) > 0 {
			s.Location = rapid.SliceOfN(rapid.SampledFrom(p.Location), 0, 6).Draw(t, "stack")
		}
		drawLabels(t, s)
		p.Sample = append(p.Sample, s)
	}
	return p.Copy()
}

// drawDropped draws patterns of the frames of drawProfile.
func drawDropped(t *rapid.T) (drop, keep string) {
	patterns := rapid.SampledFrom([]string{"", "", "a", "b|c d", ".*", "[ab]", "("})
	return patterns.Draw(t, "drop"), patterns.Draw(t, "keep")
}

// drawCode adds mappings, functions and locations.
func drawCode(t *rapid.T, p *pprof.Profile) {
	for i, m := range []pprof.Mapping{
		{File: "/bin/app"},
		{File: "/bin/app", Offset: 0x4000}, // a second segment of the file
		{File: "/lib/x.so", BuildID: "b1"},
		{File: "/mnt/lib/x.so", BuildID: "b2"},
		{},
	} {
		m.ID = uint64(i + 1)
		m.Start = rapid.Uint64Range(0, 1<<30).Draw(t, "base") << 12 // ASLR
		m.Limit = m.Start + 0x4000
		p.Mapping = append(p.Mapping, &m)
	}
	for i, f := range []pprof.Function{
		{Name: "a", Filename: "a.go"},
		{Name: "a", Filename: "other.go"},
		{Name: "a", SystemName: "_a", Filename: "a.go", StartLine: 3},
		{Name: "b", Filename: "b.go", StartLine: -1},
		{Name: "c d"},
		{},
	} {
		f.ID = uint64(i + 1)
		p.Function = append(p.Function, &f)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "locations") {
		l := &pprof.Location{ID: uint64(i + 1), Address: rapid.Uint64Range(0, 3).Draw(t, "offset"), IsFolded: rapid.Bool().Draw(t, "folded")}
		if k := rapid.IntRange(-1, len(p.Mapping)-1).Draw(t, "mapping"); k >= 0 {
			l.Mapping = p.Mapping[k]
			l.Address += l.Mapping.Start
		}
		for range rapid.IntRange(0, 3).Draw(t, "lines") {
			l.Line = append(l.Line, pprof.Line{
				Function: rapid.SampledFrom(p.Function).Draw(t, "function"),
				Line:     rapid.Int64Range(-1, 2).Draw(t, "line"), Column: rapid.Int64Range(0, 1).Draw(t, "column"),
			})
		}
		p.Location = append(p.Location, l)
	}
}

// drawLabels adds labels whose names could be confused with other columns.
func drawLabels(t *rapid.T, s *pprof.Sample) {
	const trace, span = "0123456789abcdef0123456789abcdef", "00000000000000ff"
	s.Label, s.NumLabel, s.NumUnit = map[string][]string{}, map[string][]int64{}, map[string][]string{}
	names := []string{"thread", "a", "a#1", "a#2", "a.b", "sp ace", "x[y]", "trace_id", "span_id", "value"}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, "labels") {
		values := []string{"x", "y", "\u00e9", "x\x00y", trace, span, strings.ToUpper(span), trace[:30], "00000000000000000000000000000000"}
		s.Label[name] = rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(t, name)
	}
	numbers := []string{"bytes", "a", "a#2", "n[b]", "n]", "[", "trace_id"}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(numbers), 0, 3, rapid.ID).Draw(t, "numbers") {
		s.NumLabel[name] = rapid.SliceOfN(rapid.Int64Range(-1, 2), 1, 3).Draw(t, name)
		if rapid.Bool().Draw(t, "has units") {
			units := rapid.SliceOfN(rapid.SampledFrom([]string{"", "bytes", "k#2", "b]", "]"}), len(s.NumLabel[name]), len(s.NumLabel[name]))
			s.NumUnit[name] = units.Draw(t, "units")
		}
	}
}

// Insert keeps a profile's labels in memory that was never encoded.
func TestInsertKeepsLabelsOfMemory(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count", stack{
		frames: "a", values: []int64{1},
		labels: map[string][]string{"k": {"", "second"}, "gone": {""}},
		nums:   map[string][]int64{"z": {0, 5}}, units: map[string][]string{"z": {"bytes"}}, // fewer units than values
	})
	insert(t, db, p)
	got, err := db.Profile(context.Background(), view(t, db), Query{})
	if err != nil {
		t.Fatal(err)
	}
	s := got.Sample[0]
	if diff := cmp.Diff(map[string][]string{"k": {"", "second"}}, s.Label); diff != "" {
		t.Errorf("labels: %s", diff)
	}
	if !slices.Equal(s.NumLabel["z"], []int64{0, 5}) || !slices.Equal(s.NumUnit["z"], []string{"bytes", ""}) {
		t.Errorf("numbers %v, units %q", s.NumLabel, s.NumUnit)
	}
}
