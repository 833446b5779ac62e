package profile_test

import (
	"context"
	"fmt"
	"log"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// cpuProfile returns a profile as google/pprof parses it from a scraped file.
func cpuProfile(at time.Time, busy int64) *pprof.Profile {
	work := &pprof.Function{ID: 1, Name: "main.work", Filename: "main.go"}
	mainFunction := &pprof.Function{ID: 2, Name: "main.main", Filename: "main.go"}
	leaf := &pprof.Location{ID: 1, Address: 1, Line: []pprof.Line{{Function: work, Line: 12}}}
	root := &pprof.Location{ID: 2, Address: 2, Line: []pprof.Line{{Function: mainFunction, Line: 5}}}
	return &pprof.Profile{
		TimeNanos: at.UnixNano(), DurationNanos: int64(10 * time.Second),
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
		Function: []*pprof.Function{work, mainFunction},
		Location: []*pprof.Location{leaf, root},
		Sample: []*pprof.Sample{
			{Location: []*pprof.Location{leaf, root}, Value: []int64{busy}},
			{Location: []*pprof.Location{root}, Value: []int64{1_000_000_000}},
		},
	}
}

func Example() {
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for _, pod := range []string{"api-0", "api-1"} {
		opts := profile.InsertOptions{Labels: map[string]string{"job": "api", "pod": pod}}
		if _, err := db.Insert(ctx, cpuProfile(at, 3_000_000_000), opts); err != nil {
			log.Fatal(err)
		}
	}

	err = store.View(ctx, func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(ctx, snap, "cpu")
		if err != nil {
			return err
		}
		stacks, err := db.Merge(ctx, snap, cpu, profile.Query{})
		if err != nil {
			return err
		}
		for _, f := range stacks.Top() {
			fmt.Println(f.Name, profile.FormatValue(f.Flat, cpu.SampleUnit), profile.FormatValue(f.Cum, cpu.SampleUnit))
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// main.work 6 s 6 s
	// main.main 2 s 8 s
}

func ExampleParseSelector() {
	s, err := profile.ParseSelector(`{job="api", pod=~"api-.*", zone!="eu"}`)
	fmt.Println(s, err)

	_, err = profile.ParseSelector(`{job="api"`)
	fmt.Println(err)
	// Output:
	// {job="api", pod=~"api-.*", zone!="eu"} <nil>
	// invalid selector `{job="api"`: 1:11: the selector ends, want "," or "}"
}

func ExampleDB_Range() {
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	at := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	for i := range 6 { // one profile every ten seconds, of two pods in turn
		opts := profile.InsertOptions{Labels: map[string]string{"pod": fmt.Sprint("api-", i%2)}}
		if _, err := db.Insert(ctx, cpuProfile(at.Add(time.Duration(10*i)*time.Second), int64(i)*1_000_000_000), opts); err != nil {
			log.Fatal(err)
		}
	}

	err = store.View(ctx, func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(ctx, snap, "cpu")
		if err != nil {
			return err
		}
		lines, err := db.Range(ctx, snap, cpu, profile.Query{}, profile.RangeOptions{Step: 30 * time.Second, By: []string{"pod"}})
		for _, line := range lines {
			fmt.Println(line.Labels)
			for _, p := range line.Points {
				fmt.Println(" ", time.Unix(0, p.Time).UTC().Format(time.TimeOnly), profile.FormatValue(p.Value, cpu.SampleUnit))
			}
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [{pod api-0}]
	//   15:00:00 4 s
	//   15:00:30 5 s
	// [{pod api-1}]
	//   15:00:00 2 s
	//   15:00:30 10 s
}
