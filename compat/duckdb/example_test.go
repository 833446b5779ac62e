//go:build cgo

package duckdb_test

import (
	"context"
	"fmt"
	"log"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/duckdb"
	"github.com/granarydb/granary/profile"
)

// fleet is a store with a CPU profile of each of two pods.
func fleet() (*columnstore.Store, *profile.DB, error) {
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	profiles, err := profile.Open(store, profile.Options{})
	for i, pod := range []string{"a", "b"} {
		f := []*pprof.Function{{ID: 1, Name: "main.main"}, {ID: 2, Name: "main.work"}}
		l := []*pprof.Location{{ID: 1, Line: []pprof.Line{{Function: f[0]}}}, {ID: 2, Line: []pprof.Line{{Function: f[1]}}}}
		p := &pprof.Profile{
			SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			Function:   f, Location: l, TimeNanos: 1_700_000_000_000_000_000,
			Sample: []*pprof.Sample{
				{Value: []int64{1, 10}, Location: l[:1]},
				{Value: []int64{3, 30 + int64(i)}, Location: []*pprof.Location{l[1], l[0]}},
			},
		}
		if err == nil {
			_, err = profiles.Insert(context.Background(), p, profile.InsertOptions{Labels: map[string]string{"pod": pod}})
		}
	}
	return store, profiles, err
}

func ExampleDB_Query() {
	store, profiles, err := fleet()
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	db, err := duckdb.Open(duckdb.Options{MemoryLimit: 1 << 30})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	samples := duckdb.Table{
		Table: profiles.Table(), Name: "samples", Elements: profile.FunctionNames,
		Select: `stacktrace[1] AS function, "labels.pod" AS pod, sample_type, value`,
	}
	if err := store.View(context.Background(), func(snap *columnstore.Snapshot) error {
		rows, err := db.Query(context.Background(), snap, []duckdb.Table{samples},
			"SELECT function, sum(value), max_by(pod, value) FROM samples WHERE sample_type = 'cpu' GROUP BY function ORDER BY 2 DESC")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var function, pod string
			var sum int64
			if err := rows.Scan(&function, &sum, &pod); err != nil {
				return err
			}
			fmt.Println(function, sum, "most in", pod)
		}
		return rows.Err()
	}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// main.work 61 most in b
	// main.main 20 most in a
}
