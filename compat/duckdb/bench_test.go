//go:build cgo

package duckdb

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
)

// BenchmarkQuery queries a prepared table of 1,000,000 rows, 100 pods and 5,000 stacks of 30
// locations. The floor is a query without a table.
func BenchmarkQuery(b *testing.B) {
	const rows, batch = 1_000_000, 10_000
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	table, err := store.CreateTable("samples", everyType())
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	stacks := make([][]uuid.UUID, 5000)
	for i := range stacks {
		for range 30 {
			stacks[i] = append(stacks[i], uuid.UUID{byte(r.IntN(50)), byte(r.IntN(60))})
		}
	}
	for at := 0; at < rows; at += batch {
		made := make([]row, batch)
		for i := range made {
			made[i] = row{pod: fmt.Sprintf("deployment-pod-%d", r.IntN(100)), stack: stacks[r.IntN(len(stacks))], n: int64(at + i), value: r.Int64N(1000)}
		}
		if _, err := table.Insert(b.Context(), batchOf(made)); err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
	db, snap := openDB(b, Options{}), snapshotOf(b, store)
	tables := []Table{{Table: table, Elements: func(dst []string, id uuid.UUID, _ []byte) []string {
		return append(dst, fmt.Sprintf("package.Function%d", int(id[0])*60+int(id[1])))
	}}}
	for _, c := range []struct{ name, query string }{
		{"floor", "SELECT 1"},
		{"count", "SELECT count(*) FROM samples"},
		{"pod", `SELECT "labels.pod", sum(value) FROM samples GROUP BY 1`},
		{"filter", `SELECT sum(value) FROM samples WHERE n BETWEEN 1000 AND 2000 AND "labels.pod" = 'deployment-pod-7'`},
		{"leaf", "SELECT stack[1], sum(value) FROM samples GROUP BY 1"},
		{"twice", "SELECT count(*) FROM samples a JOIN samples b USING (n)"},
	} {
		b.Run("query="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := answer(b.Context(), db, snap, tables, c.query); err != nil {
					b.Fatal(err)
				}
			}
			if c.name != "floor" {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			}
		})
	}
}
