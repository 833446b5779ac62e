package columnstore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// check keeps README.md's example short. A program handles its errors.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A table of web requests: any tags, sorted by them and by time.
func Example() {
	ctx := context.Background()
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()

	requests, err := store.CreateTable("requests", schema.Definition{
		Columns: []schema.Column{
			{Name: "tag", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "micros", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"tag", "time"},
	})
	check(err)
	_, err = requests.Insert(ctx, schema.Batch{Rows: 3, Columns: map[string]encoding.Vector{
		"tag.host": encoding.Strings("a"), // a single value applies to all rows
		"tag.path": encoding.Strings("/", "/buy", "/buy"),
		"time":     encoding.Int64s(1, 2, 3),
		"micros":   encoding.Int64s(120, 900, 1100),
	}})
	check(err)

	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()
	groups, err := requests.Aggregate(ctx, snap, columnstore.AggregateOptions{
		Sum: "micros", By: []string{"tag.path"}, Where: columnstore.Equal("tag.host", "a"),
	})
	check(err)
	for i, path := range groups.Column("tag.path").Values.Strings {
		fmt.Println(path, groups.Sums[i], groups.Counts[i])
	}
	// Unordered output:
	// / 120 1
	// /buy 2000 2
}

// A transaction makes rows of several inserts visible together.
func ExampleStore_Begin() {
	ctx := context.Background()
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	table, err := store.CreateTable("events", schema.Definition{
		Columns: []schema.Column{{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain}},
	})
	if err != nil {
		log.Fatal(err)
	}
	count := func() (n int64) {
		_ = store.View(ctx, func(snap *columnstore.Snapshot) error {
			groups, err := table.Aggregate(ctx, snap, columnstore.AggregateOptions{})
			for _, c := range groups.Counts {
				n += c
			}
			return err
		})
		return n
	}
	tx := store.Begin()
	for i := range 3 {
		b := schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{"n": encoding.Int64s(int64(i))}}
		if err := tx.Insert(ctx, table, b); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("before commit:", count())
	if _, err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("after commit:", count())
	// Output:
	// before commit: 0
	// after commit: 3
}

// With a memory budget the oldest time buckets make room for new rows. A snapshot still sees
// its own rows.
func ExampleOptions_memoryBudget() {
	ctx := context.Background()
	const budget = 1 << 20
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: budget, FutureLimit: -1})
	check(err)
	defer store.Close()
	visits, err := store.CreateTable("visits", schema.Definition{
		Columns: []schema.Column{
			{Name: "page", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
		},
		SortingKey: []string{"page", "time"},
		Bucket:     schema.Bucket{Column: "time", Width: int64(time.Minute)},
	})
	check(err)

	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	visit := func(minute int) {
		const rows = 200
		at := start.Add(time.Duration(minute) * time.Minute)
		b := schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{"time": encoding.Int64s(at.UnixNano())}}
		pages := make([]string, rows)
		for i := range pages {
			pages[i] = fmt.Sprintf("/page-%d-of-minute-%d", i, minute) // unique
		}
		b.Columns["page"] = encoding.Strings(pages...)
		_, err := visits.Insert(ctx, b)
		check(err)
	}
	visit(0)
	first, err := store.Snapshot()
	check(err)
	defer first.Close()
	for minute := range 500 {
		visit(minute + 1)
	}

	stats := store.Stats()
	fmt.Println("within the budget:", stats.Bytes() <= budget)
	fmt.Println("nothing lost but what was evicted:", stats.Rows+stats.EvictedRows == 501*200, stats.EvictedRows > 0)
	series, err := visits.Series(ctx, first, columnstore.Expr{})
	fmt.Println("pages of the first minute, in its snapshot:", len(series), err)
	// Output:
	// within the budget: true
	// nothing lost but what was evicted: true true
	// pages of the first minute, in its snapshot: 200 <nil>
}

// Writers that repeat the same series and stacks intern them once, and then insert their
// codes.
func ExampleTable_Codes() {
	ctx := context.Background()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	check(err)
	defer store.Close()
	samples, err := store.CreateTable("samples", schema.Definition{
		Columns: []schema.Column{
			{Name: "label", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "nanos", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"label", "stack", "time"},
		Header:     []string{"time"},
		Bucket:     schema.Bucket{Column: "time", Width: int64(time.Hour)},
	})
	check(err)

	// Once for the duration given by Range.
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	codes, err := samples.Codes(start.UnixNano())
	check(err)
	api, err := codes.Series(map[string]string{"label.job": "api", "label.pod": "api-0"})
	check(err)
	main, serve, read := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	stacks, err := codes.UUIDLists(nil, [][]uuid.UUID{{serve, main}, {read, serve, main}})
	check(err)

	// Then for each profile. The store keeps no reference to the batch.
	b := schema.Batch{Rows: 2, Series: api, Columns: map[string]encoding.Vector{
		"stack": encoding.ListCodes(stacks...),
		"time":  encoding.Int64s(0),
		"nanos": encoding.Int64s(0, 0),
	}}
	for i := range 360 {
		b.Columns["time"].Int64s[0] = start.Add(time.Duration(i) * 10 * time.Second).UnixNano()
		b.Columns["nanos"].Int64s[0], b.Columns["nanos"].Int64s[1] = 1000, int64(i)
		_, err := codes.Insert(ctx, b)
		check(err)
	}

	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()
	groups, err := samples.Aggregate(ctx, snap, columnstore.AggregateOptions{
		Sum: "nanos", By: []string{"label.job", "stack"},
	})
	check(err)
	stack := groups.Column("stack")
	for i, sum := range groups.Sums {
		list := stack.Lists.UUIDs(nil, stack.Codes[i])
		fmt.Println(groups.Column("label.job").Values.Strings[i], len(list), "functions deep:", sum, "ns in", groups.Counts[i], "profiles")
	}
	// Unordered output:
	// api 2 functions deep: 360000 ns in 360 profiles
	// api 3 functions deep: 64620 ns in 360 profiles
}
