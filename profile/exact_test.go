package profile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// Exact answers begin and end within time buckets, at the first and before the last nanosecond.
func TestExactLabels(t *testing.T) {
	const width = int64(DefaultBucket)
	db := testDB(t, Options{})
	first := int64(start) - start%width
	for i := range int64(3) { // a pod at the first and one at the last nanosecond of each bucket
		for k, at := range []int64{first + i*width, first + (i+1)*width - 1} {
			insert(t, db, makeProfile(at, "n:count", stack{frames: "f", values: []int64{1}}), "pod", fmt.Sprintf("p%d%d", i, k), fmt.Sprint("only", i), "x")
		}
	}
	snap := view(t, db)
	for _, tc := range []struct {
		from, to    int64
		pods, names string
	}{
		{1, 3*width - 1, "p01 p10 p11 p20", "only0 only1 only2 pod"},
		{0, 3 * width, "p00 p01 p10 p11 p20 p21", "only0 only1 only2 pod"},
		{1, width - 1, "", ""},
		{width, width + 1, "p10", "only1 pod"},
		{2*width - 1, 2 * width, "p11", "only1 pod"},
	} {
		q := Query{From: first + tc.from, To: first + tc.to, Exact: true}
		pods, err := db.LabelValues(ctx, snap, "pod", q)
		if got := strings.Join(pods, " "); got != tc.pods || err != nil {
			t.Errorf("pods of %+v: %s, %v", tc, got, err)
		}
		names, err := db.LabelNames(ctx, snap, q)
		if got := strings.Join(names, " "); got != tc.names || err != nil {
			t.Errorf("names of %+v: %s, %v", tc, got, err)
		}
		series, err := db.Series(ctx, snap, q)
		if len(series) != len(pods) || err != nil {
			t.Errorf("series of %+v: %v, %v", tc, series, err)
		}
	}
	q := Query{Exact: true, MaxBytes: 1}
	_, namesErr := db.LabelNames(ctx, snap, q)
	_, valuesErr := db.LabelValues(ctx, snap, "pod", q)
	_, seriesErr := db.Series(ctx, snap, q)
	for _, err := range []error{namesErr, valuesErr, seriesErr} {
		if !errors.Is(err, columnstore.ErrQueryMemory) {
			t.Errorf("in 1 byte: %v", err)
		}
	}
}

// BenchmarkExactLabels compares exact answers with those of whole time buckets, for 200 pods and
// four hours: in time ranges that divide no bucket, or leave out the first and the last minute.
func BenchmarkExactLabels(b *testing.B) {
	db := openBenchDB(b)
	defer db.store.Close()
	var stacks []stack
	for i := range 10 {
		stacks = append(stacks, stack{frames: fmt.Sprint("f", i, " g", i%7, " main"), values: []int64{int64(i + 1)}})
	}
	p := makeProfile(start, "n:count", stacks...)
	begin := int64(start) - start%int64(time.Hour)
	for at := begin; at < begin+int64(4*time.Hour); at += int64(10 * time.Second) {
		for pod := range 200 {
			p.TimeNanos = at
			labels := map[string]string{"job": fmt.Sprint("job-", pod%5), "pod": fmt.Sprint("pod-", pod)}
			if _, err := db.Insert(ctx, p, InsertOptions{Labels: labels}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := db.store.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	snap, err := db.store.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	defer snap.Close()
	minute := int64(time.Minute)
	for name, q := range map[string]Query{
		"whole":   {From: begin + 15*minute, To: begin + 225*minute},
		"divided": {From: begin + minute, To: begin + 239*minute},
	} {
		for _, exact := range []bool{false, true} {
			q.Exact = exact
			ask := func(what string, f func() (int, error)) {
				b.Run(fmt.Sprintf("of=%s/buckets=%s/exact=%t", what, name, exact), func(b *testing.B) {
					for b.Loop() {
						if n, err := f(); err != nil || n == 0 {
							b.Fatal(n, err)
						}
					}
				})
			}
			ask("names", func() (int, error) { names, err := db.LabelNames(ctx, snap, q); return len(names), err })
			ask("values", func() (int, error) { values, err := db.LabelValues(ctx, snap, "pod", q); return len(values), err })
			ask("series", func() (int, error) { series, err := db.Series(ctx, snap, q); return len(series), err })
		}
	}
}
