package columnstore_test

import (
	"context"
	"fmt"
	"regexp"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// calls is a table of sampled calls: place, host, time and duration.
func calls(store *columnstore.Store) *columnstore.Table {
	table, err := store.CreateTable("calls", schema.Definition{
		Columns: []schema.Column{
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.DictionaryRLE},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "micros", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"labels", "stack", "time"},
	})
	check(err)
	main, read, write := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3} // locations
	for _, host := range []string{"a", "b"} {
		_, err = table.Insert(context.Background(), schema.Batch{
			Rows: 3,
			Columns: map[string]encoding.Vector{
				"labels.host": encoding.Strings(host),
				"stack":       encoding.UUIDLists([]uuid.UUID{read, main}, []uuid.UUID{write, main}, []uuid.UUID{main}),
				"time":        encoding.Int64s(1, 2, 3),
				"micros":      encoding.Int64s(10, 20, 5),
			},
			Records: map[uuid.UUID][]byte{main: []byte("main"), read: []byte("io.read"), write: []byte("io.write")},
		})
		check(err)
	}
	return table
}

// Scan the selected columns, in order, as Arrow records. The receiver of a record releases it.
func ExampleTable_Scan() {
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	table := calls(store)
	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()

	records := table.Scan(context.Background(), snap, columnstore.ScanOptions{
		Columns: []string{"labels.host", "micros"},
		Where:   columnstore.And(columnstore.In("labels.host", "b", "c"), columnstore.AtLeast("micros", 10)),
		Ordered: true, Limit: 10,
	})
	for rec, err := range records {
		check(err)
		printRecord(rec)
		rec.Release()
	}
	// Output:
	// b 10
	// b 20
}

// The two longest calls, the longest first.
func ExampleTable_Scan_orderBy() {
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	table := calls(store)
	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()

	records := table.Scan(context.Background(), snap, columnstore.ScanOptions{
		Columns: []string{"labels.host", "micros"},
		OrderBy: []columnstore.Ordering{{Column: "micros", Descending: true}, {Column: "labels.host"}},
		Limit:   2,
	})
	for rec, err := range records {
		check(err)
		printRecord(rec)
		rec.Release()
	}
	// Output:
	// a 20
	// b 20
}

// The number of calls by host, and their longest and mean duration, in one pass. The host with the
// longest call comes first.
func ExampleTable_Aggregate() {
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	table := calls(store)
	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()

	groups, err := table.Aggregate(context.Background(), snap, columnstore.AggregateOptions{
		By: []string{"labels.host"},
		Aggregates: []columnstore.Aggregate{
			{Op: columnstore.Max, Column: "micros"},
			{Op: columnstore.Mean, Column: "micros"},
		},
		OrderBy: []columnstore.Ordering{{Column: "max(micros)", Descending: true}}, Limit: 10,
	})
	check(err)
	longest, mean := groups.Column("max(micros)").Values.Int64s, groups.Column("mean(micros)").Values.Float64s
	for i, host := range groups.Column("labels.host").Values.Strings {
		fmt.Printf("%s: %d calls, at most %d us, %.1f us\n", host, groups.Counts[i], longest[i], mean[i])
	}
	// Output:
	// a: 3 calls, at most 20 us, 11.7 us
	// b: 3 calls, at most 20 us, 11.7 us
}

func printRecord(rec arrow.Record) {
	hosts, micros := rec.Column(0).(*array.Dictionary), rec.Column(1).(*array.Int64)
	names := hosts.Dictionary().(*array.String)
	for row := range int(rec.NumRows()) {
		fmt.Println(names.Value(hosts.GetValueIndex(row)), micros.Value(row))
	}
}

// Sum by stack, over the stacks with an element whose record matches. The condition is
// evaluated once for each element.
func ExampleHasElement() {
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	table := calls(store)
	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()

	pattern := regexp.MustCompile(`^io\.`)
	groups, err := table.Aggregate(context.Background(), snap, columnstore.AggregateOptions{
		Sum: "micros", By: []string{"stack"},
		Where: columnstore.HasElement("stack", func(_ uuid.UUID, record []byte) bool { return pattern.Match(record) }),
	})
	check(err)
	stacks := groups.Column("stack")
	for i, code := range stacks.Codes {
		for _, element := range stacks.Lists.List(nil, code) {
			fmt.Printf("%s ", stacks.Lists.Record(element))
		}
		fmt.Println(groups.Sums[i])
	}
	// Unordered output:
	// io.read main 20
	// io.write main 40
}

// The hosts, without reading rows.
func ExampleTable_SeriesValues() {
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	table := calls(store)
	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()

	hosts, err := table.SeriesValues(context.Background(), snap, "labels.host", columnstore.Expr{})
	check(err)
	fmt.Println(hosts)
	// Output: [a b]
}
