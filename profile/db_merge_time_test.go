package profile

import (
	"errors"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// TestMergeByTime: the stacks of all times add up to those of Merge, and steps join times.
func TestMergeByTime(t *testing.T) {
	db := testDB(t, Options{})
	for i, at := range []int64{3, 0, 19, 10, 3} {
		insert(t, db, makeProfile(start+at, "n:count", stack{frames: "f g", values: []int64{1 << i}}, stack{frames: "g", values: []int64{100}}))
	}
	snap := view(t, db)
	base := int64(start - start%10)
	for step, want := range map[time.Duration]map[int64]int64{
		0: {0: 102, 3: 217, 10: 108, 19: 104}, 10: {0: 319, 10: 212},
	} {
		found, err := db.MergeByTime(ctx, snap, cpuCount, Query{}, step)
		if err != nil || len(found) != len(want) {
			t.Fatalf("step %d: %d times, %v", step, len(found), err)
		}
		last := int64(0)
		for _, f := range found {
			if f.Time <= last || f.Stacks.Total != want[f.Time-base] {
				t.Errorf("step %d, %d after the start: %d, want %d", step, f.Time-base, f.Stacks.Total, want[f.Time-base])
			}
			last = f.Time
		}
	}
	if found, err := db.MergeByTime(ctx, snap, cpuCount, Query{From: start + 100}, 0); len(found) != 0 || err != nil {
		t.Errorf("of no samples: %v, %v", found, err)
	}
	for _, test := range []struct {
		step time.Duration
		q    Query
		want error
	}{{-1, Query{}, columnstore.ErrQuery}, {0, Query{MaxBytes: 10}, columnstore.ErrQueryMemory}} {
		if found, err := db.MergeByTime(ctx, snap, cpuCount, test.q, test.step); found != nil || !errors.Is(err, test.want) {
			t.Errorf("%v, %v, want %v", found, err, test.want)
		}
	}
}
