package arrow18_test

import (
	"context"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/arrow18"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// check keeps the example short. A program handles its errors.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The rows of a table, read with Arrow v18. RecordSchema is the schema of a scan before its
// first record, and of one without rows too.
func ExampleNewReader() {
	ctx := context.Background()
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	requests, err := store.CreateTable("requests", schema.Definition{
		Columns: []schema.Column{
			{Name: "path", Type: encoding.String, Encoding: encoding.Dictionary},
			{Name: "micros", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"path"},
	})
	check(err)
	_, err = requests.Insert(ctx, schema.Batch{Rows: 3, Columns: map[string]encoding.Vector{
		"path":   encoding.Strings("/buy", "/", "/buy"),
		"micros": encoding.Int64s(900, 120, 1100),
	}})
	check(err)

	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()
	opts := columnstore.ScanOptions{Form: columnstore.Plain, Ordered: true}
	records, err := requests.RecordSchema(snap, opts)
	check(err)
	reader, err := arrow18.NewReader(records, requests.Scan(ctx, snap, opts))
	check(err)
	defer reader.Release()
	fmt.Println(reader.Schema().Field(0).Type, reader.Schema().Field(1).Type)
	for reader.Next() {
		rec := reader.RecordBatch()
		path, micros := rec.Column(0).(*array.String), rec.Column(1).(*array.Int64)
		for i := range int(rec.NumRows()) {
			fmt.Println(path.Value(i), micros.Value(i))
		}
	}
	check(reader.Err())
	// Output:
	// utf8 int64
	// / 120
	// /buy 900
	// /buy 1100
}
