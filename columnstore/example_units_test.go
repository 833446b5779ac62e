package columnstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// A program copies closed ranges elsewhere, each row once, and drops them here.
func ExampleTable_Seal() {
	ctx := context.Background()
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	requests, err := store.CreateTable("requests", schema.Definition{
		Columns: []schema.Column{
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "micros", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"time"},
		Bucket:     schema.Bucket{Column: "time", Width: time.Hour.Nanoseconds()},
	})
	check(err)
	noon := time.Date(2024, 11, 27, 12, 0, 0, 0, time.UTC)
	add := func(at time.Time, micros int64) {
		_, err := requests.Insert(ctx, schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
			"time": encoding.Int64s(at.UnixNano()), "micros": encoding.Int64s(micros),
		}})
		check(err)
	}
	export := func() {
		units, err := requests.Seal(ctx, noon.UnixNano())
		check(err)
		snap, err := store.Snapshot()
		check(err)
		defer snap.Close()
		for _, u := range units {
			rows := int64(0)
			for rec, err := range requests.Scan(ctx, snap, columnstore.ScanOptions{Buckets: []uint64{u.ID}}) {
				check(err)
				rows += rec.NumRows() // here they are written elsewhere
				rec.Release()
			}
			fmt.Printf("unit %d: %d rows from %s on\n", u.ID, rows, time.Unix(0, u.First).UTC().Format(time.TimeOnly))
		}
	}
	add(noon.Add(-10*time.Minute), 120)
	add(noon.Add(-5*time.Minute), 900)
	add(noon.Add(time.Minute), 1100) // of a range that goes on
	export()
	add(noon.Add(-time.Minute), 300) // late
	export()
	_, err = requests.Drop(ctx, []uint64{1, 2})
	check(err)
	fmt.Println(store.Stats().Rows, "row is left")
	// Output:
	// unit 1: 2 rows from 11:00:00 on
	// unit 2: 1 rows from 11:00:00 on
	// 1 row is left
}
