package columnstore

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// churn inserts the profiles of a fleet of 20 pods from one instant to another: each has a
// profile of 40 rows every ten seconds. Every ten minutes all pods, labels and stacks are
// replaced by new ones.
func churn(t *testing.T, table *Table, from, to time.Time) {
	for now := from; now.Before(to); now = now.Add(10 * time.Second) {
		life := now.Unix() / 600
		for pod := range 20 {
			stacks := make([][]uuid.UUID, 40)
			for i := range stacks {
				for depth := range 10 {
					stacks[i] = append(stacks[i], uuid.UUID{byte(life), byte(life >> 8), byte(pod), byte(i), byte(depth), byte(now.Unix() / 10 % 3)})
				}
			}
			insert(t, table, schema.Batch{Rows: len(stacks), Columns: map[string]encoding.Vector{
				"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprintf("pod-%d-%d", life, pod)),
				fmt.Sprint("labels.l", life%50): encoding.Strings(fmt.Sprint("value-", life)),
				"stack":                         encoding.UUIDLists(stacks...), "time": encoding.Int64s(now.UnixNano()), "value": encoding.Int64s(1),
			}})
		}
	}
}

// TestRetention_Churn replaces all labels and stacks every ten minutes for two hours of simulated time,
// with a retention of 20 minutes. The heap ends within a fifth of a fresh store's heap with the same live
// data, with buckets of 15 minutes and of one.
func TestRetention_Churn(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("the race detector has a heap of its own")
	}
	end := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	for _, width := range []time.Duration{15 * time.Minute, time.Minute} {
		t.Run(fmt.Sprint("buckets of ", width), func(t *testing.T) {
			measure := func(from time.Time) (*Store, int64) {
				before := heap()
				store, table := open(t, Options{Retention: 20 * time.Minute, Now: func() time.Time { return end }, Manual: true}, samples(int64(width)))
				churn(t, table, from, end)
				compact(t, store)
				return store, heap() - before
			}
			churned, got := measure(end.Add(-2 * time.Hour))
			stats := churned.Stats()
			fresh, want := measure(stats.Oldest)
			if f := fresh.Stats(); f.Rows != stats.Rows || stats.DroppedRows == 0 {
				t.Fatalf("%d rows live and %d dropped after churn, %d in the fresh store", stats.Rows, stats.DroppedRows, f.Rows)
			}
			t.Logf("heap %d bytes after two hours, %d of which rows and index; fresh %d, with the same %d rows since %v", got, stats.PartBytes, want, stats.Rows, stats.Oldest.UTC())
			if got > want*12/10 {
				t.Errorf("heap of %d bytes after churn, %d in a fresh store with the same data", got, want)
			}
			runtime.KeepAlive(fresh)
			runtime.KeepAlive(churned)
		})
	}
}
