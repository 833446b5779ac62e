package export_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/apache/arrow/go/v14/arrow/ipc"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/export"
	"github.com/granarydb/granary/profile"
)

// A scan is written as a stream for pyarrow, Polars, DuckDB and others.
func ExampleArrowWriter() {
	ctx := context.Background()
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := store.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()

	opts := columnstore.ScanOptions{Form: columnstore.Dictionary, Elements: profile.FunctionNames}
	schema, err := db.Table().RecordSchema(snap, opts)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	out := export.NewArrowWriter(&file, schema, nil)
	for rec, err := range db.Table().Scan(ctx, snap, opts) {
		if err != nil {
			log.Fatal(err)
		}
		if err := out.Write(rec); err != nil {
			log.Fatal(err)
		}
		rec.Release()
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}

	in, err := ipc.NewReader(&file)
	if err != nil {
		log.Fatal(err)
	}
	defer in.Release()
	for _, f := range in.Schema().Fields() {
		if f.Name == "timestamp" || f.Name == "stacktrace" {
			fmt.Println(f.Name, f.Type)
		}
	}
	// Output:
	// stacktrace dictionary<values=list<item: utf8, nullable>, indices=uint32, ordered=false>
	// timestamp timestamp[ns]
}
