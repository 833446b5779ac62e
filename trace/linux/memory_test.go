package linux

import (
	"runtime"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/trace"
)

// TestImport_Memory imports text into a history that drops what is older than a transaction: memory does not grow with
// the length of the text.
func TestImport_Memory(t *testing.T) {
	effort.Slow(t)
	const lines, margin = 400_000, 2 << 20
	var h *history.History
	var tx *history.Draft
	var heap []uint64
	last := int64(0)
	_, err := Options{}.Import(t.Context(), &switches{lines: lines}, trace.Target{
		Begin: func(start int64) (w *history.Writer, err error) {
			if h == nil {
				if h, err = history.New(history.Options{Start: start}); err != nil {
					return nil, err
				}
			}
			if tx, err = h.Begin(); err != nil {
				return nil, err
			}
			tx.DropBefore(last)
			last = start
			return tx.Writer, nil
		},
		Commit: func() error {
			_, err := tx.Commit()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = append(heap, m.HeapAlloc)
			return err
		},
	})
	if err != nil || len(heap) < 10 {
		t.Fatalf("%d commits, %v", len(heap), err)
	}
	early, late := heap[len(heap)/4], heap[len(heap)-2] // the last commit has sealed all lanes
	if late > early+margin {
		t.Errorf("the heap has %d bytes after a quarter of the text, and %d at its end", early, late)
	}
	t.Logf("%d commits, heap %d and %d bytes", len(heap), early, late)
}
