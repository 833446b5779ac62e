package query

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/history"
)

// BenchmarkHistoryScan: 2,000 attributes with 500 intervals each, all of them and one
// instant; ints, and strings of which there are few.
func BenchmarkHistoryScan(b *testing.B) {
	texts := []string{"running", "waiting", "runnable", "blocked", "exited"}
	kinds := map[string]func(i int) history.Value{
		"int":    intValue,
		"string": func(i int) history.Value { return history.String(texts[(i+i/2000)%5]) },
	}
	for kind, value := range kinds {
		view := manyStates(b, 2000, 500, value)
		for _, form := range recordForms {
			for name, scan := range map[string]func(q HistoryScan) iter.Seq2[arrow.Record, error]{
				"range": func(q HistoryScan) iter.Seq2[arrow.Record, error] {
					return q.Range(context.Background(), view.Start(), view.End())
				},
				"slice": func(q HistoryScan) iter.Seq2[arrow.Record, error] {
					return q.Slice(context.Background(), view.End()/2)
				},
				"pixels": func(q HistoryScan) iter.Seq2[arrow.Record, error] {
					return q.Pixels(context.Background(), view.Start(), view.End(), 100)
				},
			} {
				b.Run(fmt.Sprintf("%s/value=%s/form=%v", name, kind, form), func(b *testing.B) {
					b.ReportAllocs()
					rows := int64(0)
					for b.Loop() {
						for rec, err := range scan(HistoryScan{View: view, Form: form, NoNulls: true}) {
							if err != nil {
								b.Fatal(err)
							}
							rows += rec.NumRows()
							rec.Release()
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/interval")
				})
			}
		}
	}
	view := manyStates(b, 2000, 500, intValue)
	b.Run("Range", func(b *testing.B) { // the cost without records
		rows := 0
		for b.Loop() {
			for _, a := range attributesOf(view) {
				for _, err := range view.Range(a, view.Start(), view.End(), history.RangeOptions{}) {
					if err != nil {
						b.Fatal(err)
					}
					rows++
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/interval")
	})
	b.Run("columns", func(b *testing.B) { // the history's share of it
		rows := 0
		for b.Loop() {
			for columns, err := range view.RangeColumns(attributesOf(view), view.Start(), view.End(), 0, 4096) {
				if err != nil {
					b.Fatal(err)
				}
				rows += len(columns.Attributes)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/interval")
	})
}

// attributesOf returns all attributes of a view.
func attributesOf(view *history.View) []history.Attribute {
	all := make([]history.Attribute, view.Len())
	for i := range all {
		all[i] = history.Attribute(i)
	}
	return all
}
