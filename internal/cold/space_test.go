package cold_test

import (
	"maps"
	"math"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/schema"
)

// rangesOf returns a root of tables with time ranges of 10, and the manifest of their files: of each bucket by its
// start, the bytes.
func rangesOf(t *testing.T, tables ...map[int64]int64) (*catalog.Database, *files.Manifest) {
	t.Helper()
	s, err := schema.New(schema.Definition{
		Columns:    []schema.Column{{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta}},
		SortingKey: []string{"time"}, Bucket: schema.Bucket{Column: "time", Width: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	root, m := &catalog.Database{}, &files.Manifest{}
	for _, sizes := range tables {
		state := catalog.NewTableState(s)
		state.Newest = math.MinInt64
		edit, out := state.Buckets.Edit(), files.TableFiles{}
		for start := range int64(100) {
			bytes, ok := sizes[start]
			if !ok {
				continue
			}
			lo, _ := s.BucketBounds(start)
			edit.Set(lo, &catalog.BucketState{Start: start})
			state.Newest = start
			if bytes > 0 {
				out.Buckets = append(out.Buckets, files.BucketFile{Start: start, Bytes: bytes, Rows: 1})
			}
		}
		state.Buckets = edit.Done()
		root.Tables, m.Tables = append(root.Tables, state), append(m.Tables, out)
	}
	return root, m
}

// The oldest ranges go, over all tables, whole, and no more than needed; each table keeps its newest one.
func TestOldestRanges(t *testing.T) {
	root, m := rangesOf(t, map[int64]int64{0: 5, 4: 5, 20: 10, 30: 10}, map[int64]int64{10: 10, 20: 10})
	for _, c := range []struct {
		bytes  int64
		coming map[int]int64
		want   map[int]int64
	}{
		{0, nil, map[int]int64{}},
		{-1, nil, map[int]int64{}},
		{1, nil, map[int]int64{0: 10}},  // a range with two buckets goes whole
		{10, nil, map[int]int64{0: 10}}, // and has the bytes of both
		{11, nil, map[int]int64{0: 10, 1: 20}},
		{21, nil, map[int]int64{0: 30, 1: 20}},
		{1000, nil, map[int]int64{0: 30, 1: 20}}, // the newest stay
		{1000, map[int]int64{1: 50}, map[int]int64{0: 30, 1: 30}},
		{1000, map[int]int64{1: 10}, map[int]int64{0: 30, 1: 20}}, // rows that come late
	} {
		if got := cold.OldestRanges(root, m, cold.AllTables, c.coming, c.bytes, 0); !maps.Equal(got, c.want) {
			t.Errorf("%d bytes, coming %v: floors %v, want %v", c.bytes, c.coming, got, c.want)
		}
	}
}

// A manifest is trimmed by the floors that cut it, and is not changed itself.
func TestTrimmed(t *testing.T) {
	root, m := rangesOf(t, map[int64]int64{0: 5, 20: 10, 30: 10}, map[int64]int64{10: 10})
	m.Tables[0].Generations = []files.GenerationFiles{{Number: 0}, {Number: 1}}
	m.Commit, m.Segment = 7, 3
	first := func(int, int64) int64 { return 1 }
	if got := cold.Trimmed(m, root, first); got != nil {
		t.Errorf("without floors: %+v", got)
	}
	root.Tables[0].Floor = 20
	got := cold.Trimmed(m, root, first)
	if got == nil {
		t.Fatal("nothing was trimmed")
	}
	cut := got.Tables[0]
	if len(cut.Buckets) != 2 || cut.Buckets[0].Start != 20 || cut.State.Floor != 20 || cut.State.Dropped != 1 ||
		len(cut.Generations) != 1 || cut.Generations[0].Number != 1 || got.Commit != 7 || got.Segment != 3 || len(got.Tables[1].Buckets) != 1 {
		t.Errorf("trimmed: %+v", got)
	}
	if before := m.Tables[0]; len(before.Buckets) != 3 || before.Buckets[0].Start != 0 || len(before.Generations) != 2 || before.State.Floor != 0 {
		t.Errorf("the manifest that was trimmed: %+v", before)
	}
	if again := cold.Trimmed(got, root, first); again != nil {
		t.Errorf("again: %+v", again)
	}
}
