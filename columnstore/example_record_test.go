package columnstore_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
)

// An answer as an Arrow record, in the form without dictionaries, with the names stored beside
// the locations in place of their ids.
func ExampleGroups_Record() {
	ctx := context.Background()
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	table := calls(store)
	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()

	groups, err := table.Aggregate(ctx, snap, columnstore.AggregateOptions{Sum: "micros", By: []string{"stack"}})
	check(err)
	record, err := groups.Record(columnstore.RecordOptions{
		Form: columnstore.Plain,
		Elements: func(dst []string, _ uuid.UUID, record []byte) []string {
			return append(dst, string(record))
		},
	})
	check(err)
	defer record.Release()
	fmt.Println(record.Schema().Field(0).Type)
	stacks, sums, counts := record.Column(0), record.Column(1).(*array.Int64), record.Column(2).(*array.Int64)
	for i := range int(record.NumRows()) {
		fmt.Println(stacks.ValueStr(i), sums.Value(i), counts.Value(i))
	}
	// Unordered output:
	// list<item: utf8, nullable>
	// ["io.read","main"] 20 2
	// ["io.write","main"] 40 2
	// ["main"] 10 2
}

// The store's own form: labels are run-end encoded, which costs nearly nothing.
func ExampleTable_Scan_native() {
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	table := calls(store)
	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()

	opts := columnstore.ScanOptions{Form: columnstore.Native, Columns: []string{"labels.host", "micros"}, Ordered: true}
	for record, err := range table.Scan(context.Background(), snap, opts) {
		check(err)
		hosts := record.Column(0).(*array.RunEndEncoded)
		ends := hosts.RunEndsArr().(*array.Int32).Int32Values()
		for run, end := range ends {
			values := hosts.Values().(*array.Dictionary)
			fmt.Println(values.Dictionary().ValueStr(values.GetValueIndex(run)), "up to row", end)
		}
		micros := slices.Clone(record.Column(1).(*array.Int64).Int64Values())
		record.Release()
		fmt.Println(micros)
	}
	// Output:
	// a up to row 3
	// b up to row 6
	// [5 10 20 5 10 20]
}
