package profile

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
)

// Means that are made elsewhere from the sums and times of sources are those of the store, to the last unit:
// those of stacks by one more store, whose profiles come in another order, those over time by Mean.
func TestSources_MeansElsewhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db, _, snap := drawSnapshot(t, 1, 8)
		defer db.store.Close()
		defer snap.Close()
		q, typ := drawQuery(t), oracleTypes[1]
		db.opts.Without = rapid.SampledFrom([][]string{nil, {"pod"}, {"pod", "job"}}).Draw(t, "without")
		q.SumGauges, q.Hide, q.Show, q.SumKinds, q.MaxBytes = false, nil, nil, true, 0
		profiles, err := db.SourceProfiles(ctx, snap, q, typ)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := openDB(t, Options{})
		defer elsewhere.store.Close()
		times := &Times{Label: "of", Of: map[string]int64{}}
		for i, p := range slices.Backward(profiles) {
			if times.Of[strconv.Itoa(i)] = p.Times; p.Profile == nil {
				continue
			}
			var data bytes.Buffer
			if err := p.Profile.WriteUncompressed(&data); err != nil {
				t.Fatal(err)
			}
			if _, err := elsewhere.InsertEncoded(ctx, data.Bytes(), InsertOptions{Labels: map[string]string{"of": strconv.Itoa(i)}, AllFrames: true}); err != nil {
				t.Fatal(err)
			}
		}
		want, err := db.Merge(ctx, snap, typ, q)
		if err != nil {
			t.Fatal(err)
		}
		view, err := elsewhere.store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		got, err := elsewhere.Merge(ctx, view, typ, Query{Times: times})
		if err != nil {
			t.Fatal(err)
		}
		if got.Total != want.Total || !maps.Equal(stackSums(got), stackSums(want)) {
			t.Fatalf("%d %v, want %d %v", got.Total, stackSums(got), want.Total, stackSums(want))
		}

		opts := RangeOptions{By: rapid.SampledFrom([][]string{nil, {"job"}, {"thread", "pod"}}).Draw(t, "by"), Step: rapid.SampledFrom([]time.Duration{1, 9 * time.Second, time.Hour}).Draw(t, "step")}
		lines, err := db.Range(ctx, snap, typ, q, opts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(pointsOf(lines), meansOf(t, db, snap, q, typ, opts)); diff != "" {
			t.Fatalf("lines: -Range +Mean\n%s", diff)
		}
	})
}

// pointsOf returns the values of lines by labels and time.
func pointsOf(lines []Line) map[string]int64 {
	out := map[string]int64{}
	for _, l := range lines {
		for _, p := range l.Points {
			out[fmt.Sprint(l.Labels, p.Time)] = p.Value
		}
	}
	return out
}

// meansOf returns the means of a range by labels and time, made from sums and times.
func meansOf(t *rapid.T, db *DB, snap *columnstore.Snapshot, q Query, typ Type, opts RangeOptions) map[string]int64 {
	sums, times, err := db.SourceRange(ctx, snap, typ, q, opts)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int64{}
	for _, l := range times {
		for _, p := range l.Points {
			numbers[fmt.Sprint(l.Source, p.Time)] = p.Value
		}
	}
	sum := map[string]*means.Total{}
	for _, l := range sums {
		for _, p := range l.Points {
			key := fmt.Sprint(l.Labels, p.Time)
			if sum[key] == nil {
				sum[key] = &means.Total{}
			}
			sum[key].Add(p.Value, numbers[fmt.Sprint(l.Source, p.Time)])
		}
	}
	out := map[string]int64{}
	for key, m := range sum {
		out[key] = m.Value()
	}
	return out
}
