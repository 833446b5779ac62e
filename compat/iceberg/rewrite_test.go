package iceberg

import (
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// The rows in memory, and what is known of symbols, are below the bound after each record.
func TestRun_Memory(t *testing.T) {
	l, _ := newSymbolLake(t)
	err := l.eachRewriter(t.Context(), func(r *rewriter) error {
		r.memory = 8 << 10
		files := filesOf(t, r.lake)
		names := slices.Sorted(maps.Keys(files))
		out := newDataFile(r.to, "rewritten", files[names[0]].first)
		if err := out.open(r.fields); err != nil {
			return err
		}
		run := &run{rewriter: r, out: out, rows: newCoded(r.fields), day: files[names[0]].first}
		if r.distinct {
			run.known = newKnown()
		}
		for _, name := range names {
			err := r.scan(t.Context(), files[name], nil, func(rec arrow.RecordBatch) error {
				for row := range rec.NumRows() {
					part := rec.NewSlice(row, row+1)
					err := run.add(part)
					part.Release()
					if err != nil {
						return err
					}
					if size := run.size(); size >= r.memory {
						t.Fatalf("table %s: %d bytes after row %d", r.lake.Name(), size, row)
					}
				}
				return nil
			})
			if err == nil {
				err = run.endFile()
			}
			if err != nil {
				return err
			}
		}
		if run.flushes < 2 {
			t.Errorf("table %s: %d runs", r.lake.Name(), run.flushes)
		}
		return out.remove()
	})
	if err != nil {
		t.Fatal(err)
	}
}
