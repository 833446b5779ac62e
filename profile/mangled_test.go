package profile

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
)

// TestMangled shows mangled names of C++ and Rust as go tool pprof does, finds functions by the names that are shown, and exports
// the names that were stored.
func TestMangled(t *testing.T) {
	const push, pushMove, write = "_ZNSt6vectorIiSaIiEE9push_backERKi", "_ZNSt6vectorIiSaIiEE9push_backEOi", "_ZN4core3fmt5write17h0123456789abcdefE"
	const shown = "std::vector::push_back"
	p := makeProfile(start, "cpu:nanoseconds",
		stack{frames: push + " main", values: []int64{1}}, stack{frames: pushMove + " main", values: []int64{2}},
		stack{frames: shown + " main", values: []int64{4}}, stack{frames: write + " +" + push + " main", values: []int64{8}},
		stack{frames: "main", values: []int64{16}})
	for _, f := range p.Function {
		f.Filename = "a.cc"
	}
	db := testDB(t, Options{})
	insert(t, db, p)
	snap, ctx := view(t, db), t.Context()
	typ, err := db.DefaultType(ctx, snap, Query{})
	if err != nil {
		t.Fatal(err)
	}
	merged := func(q Query) *Stacks {
		s, err := db.Merge(ctx, snap, typ, q)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := merged(Query{})
	flat := map[string]int64{}
	for _, f := range all.Top() {
		if _, twice := flat[f.Name]; twice {
			t.Errorf("%s is there twice", f.Name)
		}
		flat[f.Name] = f.Flat
	}
	if len(flat) != 3 || flat[shown] != 7 || flat["core::fmt::write"] != 8 || flat["main"] != 16 {
		t.Errorf("top: %v", flat)
	}
	if root := all.FlameGraph(FlameGraphOptions{}); len(root.Children) != 1 || len(root.Children[0].Children) != 1 || root.Children[0].Children[0].Name != shown || root.Children[0].Children[0].Total != 15 {
		t.Errorf("flame graph: %+v", root.Children)
	}
	pattern := regexp.MustCompile("^std::vector::push_back$")
	for name, got := range map[string]*Stacks{
		"Search": searched(t, all, pattern), "Function": merged(Query{Function: pattern}), "Under": merged(Query{Under: []string{"main", shown}}),
		"Frames": merged(Query{Frames: []FrameCondition{{Function: pattern}}}), "Show": merged(Query{Show: pattern}),
	} {
		if got.Total != 15 {
			t.Errorf("%s: %d", name, got.Total)
		}
	}
	if got := merged(Query{Hide: pattern}); got.Total != 31 || slices.ContainsFunc(got.Top(), func(f Function) bool { return f.Name == shown }) {
		t.Errorf("Hide: %d of %v", got.Total, got.Top())
	}
	out, err := db.Profile(ctx, snap, Query{}, typ)
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, f := range out.Function {
		stored = append(stored, f.Name)
	}
	slices.Sort(stored)
	if want := []string{write, push, pushMove, "main", shown}; !slices.Equal(stored, slices.Sorted(slices.Values(want))) {
		t.Errorf("exported names %q, want %q", stored, want)
	}
	for record, err := range db.Scan(ctx, snap, Query{}, columnstore.ScanOptions{Columns: []string{ColumnStacktrace}, Elements: func(dst []string, id uuid.UUID, record []byte) []string {
		names := FunctionNames(dst, id, record)
		l, err := DecodeLocation(record)
		if err != nil || l.Frames[0].Function != names[len(dst)] {
			t.Errorf("%v of %q, %v", l.Frames, names, err)
		}
		return names
	}}) {
		if err != nil {
			t.Fatal(err)
		}
		if text, err := record.MarshalJSON(); err != nil || strings.Contains(string(text), "_ZN") || !strings.Contains(string(text), shown) {
			t.Errorf("scanned: %s, %v", text, err)
		}
		record.Release()
	}
}
