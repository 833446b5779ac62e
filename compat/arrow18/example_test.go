package arrow18_test

import (
	"context"
	"fmt"
	"log"

	arrow14 "github.com/apache/arrow/go/v14/arrow"

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

// The rows of a table, read with Arrow v18.
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
	records := arrow14.NewSchema([]arrow14.Field{
		{Name: "path", Type: arrow14.BinaryTypes.String},
		{Name: "micros", Type: arrow14.PrimitiveTypes.Int64},
	}, nil)
	scan := requests.Scan(ctx, snap, columnstore.ScanOptions{Form: columnstore.Plain, Ordered: true})
	reader, err := arrow18.NewReader(records, scan)
	check(err)
	defer reader.Release()
	for reader.Next() {
		rec := reader.RecordBatch()
		path, micros := rec.Column(0).(*array.String), rec.Column(1).(*array.Int64)
		for i := range int(rec.NumRows()) {
			fmt.Println(path.Value(i), micros.Value(i))
		}
	}
	check(reader.Err())
	// Output:
	// / 120
	// /buy 900
	// /buy 1100
}
