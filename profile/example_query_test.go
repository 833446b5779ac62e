package profile_test

import (
	"context"
	"fmt"
	"log"
	"regexp"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// fleet calls ask with the profiles of two jobs of one pod each, which were profiled twice.
// Job web does more work the second time.
func fleet(ask func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, cpu profile.Type) error) {
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
	for i, busy := range []int64{2, 7} {
		for _, job := range []string{"api", "web"} {
			p := cpuProfile(fleetStart.Add(time.Duration(i)*time.Minute), busy*int64(time.Second))
			if job == "api" {
				p = cpuProfile(fleetStart.Add(time.Duration(i)*time.Minute), int64(4*time.Second))
				p.Sample[0].Label = map[string][]string{"trace_id": {fmt.Sprintf("%032x", i+1)}}
			}
			if _, err := db.Insert(ctx, p, profile.InsertOptions{Labels: map[string]string{"job": job, "pod": job + "-0"}}); err != nil {
				log.Fatal(err)
			}
		}
	}
	err = store.View(ctx, func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(ctx, snap, "cpu")
		if err != nil {
			return err
		}
		return ask(ctx, db, snap, cpu)
	})
	if err != nil {
		log.Fatal(err)
	}
}

var fleetStart = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

// mustSelector parses a selector and keeps the examples short. A program should handle the
// error.
func mustSelector(text string) profile.Selector {
	s, err := profile.ParseSelector(text)
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// All profiles of one job are summed by stack.
func ExampleDB_Merge() {
	fleet(func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, cpu profile.Type) error {
		stacks, err := db.Merge(ctx, snap, cpu, profile.Query{Selector: mustSelector(`{job="web"}`)})
		if err != nil {
			return err
		}
		for frames, value := range stacks.All() {
			fmt.Println(profile.FormatValue(value, cpu.SampleUnit))
			for _, f := range frames {
				fmt.Printf("  %s %s:%d\n", f.Function, f.File, f.Line)
			}
		}
		return nil
	})
	// Unordered output:
	// 2 s
	//   main.main main.go:5
	// 9 s
	//   main.work main.go:12
	//   main.main main.go:5
}

// Profiles are summed by stack for each job, in one pass.
func ExampleDB_MergeBy() {
	fleet(func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, cpu profile.Type) error {
		groups, err := db.MergeBy(ctx, snap, cpu, profile.Query{}, "job")
		for _, g := range groups {
			fmt.Println(g.Labels, g.Stacks.Len(), profile.FormatValue(g.Stacks.Total, cpu.SampleUnit))
		}
		return err
	})
	// Output:
	// [{job api}] 2 10 s
	// [{job web}] 2 11 s
}

// Types, labels and series are found without reading rows.
func ExampleDB_LabelValues() {
	fleet(func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, _ profile.Type) error {
		names, err := db.LabelNames(ctx, snap, profile.Query{})
		if err != nil {
			return err
		}
		fmt.Println(names)
		pods, err := db.LabelValues(ctx, snap, "pod", profile.Query{Selector: mustSelector(`{job="web"}`)})
		if err != nil {
			return err
		}
		fmt.Println(pods)
		series, err := db.Series(ctx, snap, profile.Query{})
		for _, s := range series {
			fmt.Println(s.Type, s.Labels)
		}
		return err
	})
	// Output:
	// [job pod trace_id]
	// [web-0]
	// cpu:nanoseconds:cpu:nanoseconds [{job api} {pod api-0}]
	// cpu:nanoseconds:cpu:nanoseconds [{job web} {pod web-0}]
}

// Profiles are listed, and one of them is returned.
func ExampleDB_Profiles() {
	fleet(func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, cpu profile.Type) error {
		q := profile.Query{Selector: mustSelector(`{job="web"}`)}
		profiles, err := db.Profiles(ctx, snap, cpu, q)
		if err != nil {
			return err
		}
		for _, p := range profiles {
			fmt.Println(time.Unix(0, p.Time).UTC().Format(time.TimeOnly), p.Labels, profile.FormatValue(p.Total, cpu.SampleUnit))
		}
		q.From, q.To = profiles[1].Time, profiles[1].Time+1
		one, err := db.Profile(ctx, snap, q)
		if err != nil {
			return err
		}
		fmt.Println(len(one.Sample), "samples in", time.Duration(one.DurationNanos))
		return nil
	})
	// Output:
	// 15:00:00 [{job web} {pod web-0}] 3 s
	// 15:01:00 [{job web} {pod web-0}] 8 s
	// 2 samples in 10s
}

// A normalised difference shows which functions took a greater share.
func ExampleDiffTop() {
	fleet(func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, cpu profile.Type) error {
		next := fleetStart.Add(time.Minute).UnixNano()
		before, err := db.Merge(ctx, snap, cpu, profile.Query{To: next})
		if err != nil {
			return err
		}
		after, err := db.Merge(ctx, snap, cpu, profile.Query{From: next})
		if err != nil {
			return err
		}
		fmt.Println(profile.FormatValue(before.Total, cpu.SampleUnit), "before,", profile.FormatValue(after.Total, cpu.SampleUnit), "after")
		scaled, err := after.Normalize(before)
		if err != nil {
			return err
		}
		changes, err := profile.DiffTop(before, scaled)
		if err != nil {
			return err
		}
		for _, f := range changes {
			fmt.Printf("%s %+.0f%% of the total\n", f.Name, 100*float64(f.Flat)/float64(before.Magnitude))
		}
		return nil
	})
	// Output:
	// 8 s before, 13 s after
	// main.work +10% of the total
	// main.main -10% of the total
}

// A query chooses the samples that have a function in their stack.
func ExampleQuery_function() {
	fleet(func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, cpu profile.Type) error {
		lines, err := db.Range(ctx, snap, cpu, profile.Query{Function: regexp.MustCompile(`\.work$`)}, profile.RangeOptions{Step: time.Minute})
		for _, p := range lines[0].Points {
			fmt.Println(time.Unix(0, p.Time).UTC().Format(time.TimeOnly), profile.FormatValue(p.Value, cpu.SampleUnit))
		}
		return err
	})
	// Output:
	// 15:00:00 6 s
	// 15:01:00 11 s
}

// A query chooses the samples of one trace.
func ExampleQuery_trace() {
	fleet(func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, cpu profile.Type) error {
		q := profile.Query{Selector: mustSelector(`{trace_id="00000000000000000000000000000002"}`)}
		stacks, err := db.Merge(ctx, snap, cpu, q)
		if err != nil {
			return err
		}
		fmt.Println(stacks.Len(), "stack,", profile.FormatValue(stacks.Total, cpu.SampleUnit))
		return nil
	})
	// Output:
	// 1 stack, 4 s
}

// A flame graph keeps the largest functions and sums the others.
func ExampleStacks_FlameGraph() {
	fleet(func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, cpu profile.Type) error {
		stacks, err := db.Merge(ctx, snap, cpu, profile.Query{})
		if err != nil {
			return err
		}
		root := stacks.FlameGraph(profile.FlameGraphOptions{MaxNodes: 1})
		for at := root; ; at = at.Children[0] {
			fmt.Println(at.Name, profile.FormatValue(at.Self, cpu.SampleUnit), "of", profile.FormatValue(at.Total, cpu.SampleUnit))
			if len(at.Children) == 0 {
				return nil
			}
		}
	})
	// Output:
	// root 0 ns of 21 s
	// main.main 4 s of 21 s
	// other 17 s of 17 s
}
