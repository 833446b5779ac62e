package workloads

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"time"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// arrowKeys explains the figures.
var arrowKeys = map[string]string{
	"cpu_ms":              "CPU time of the process, collections included: the median of repeat calls after one to warm up, each after a collection. Every record is made, its rows are counted and its values summed, and it is released",
	"must_ms":             "bound of cpu_ms at a million rows",
	"scan-*":              "all rows and columns, in the form",
	"scan-dictionary-own": "each record has a dictionary of the stacks of its own rows, for engines that convert it each time; otherwise records share one",
	"merge-*":             "sums by stack of all rows as one record, each stack once as a list of ids",
	"frostdb-*":           "the same of FrostDB with Parca's schema, compacted: its own scan to Arrow, and its sums by stack as bytes",
	"records":             "records of the answer",
}

// arrowFigure is the cost of an answer in Arrow.
type arrowFigure struct {
	Name    string  `json:"name"`
	CPUms   float64 `json:"cpu_ms"`
	Must    float64 `json:"must_ms,omitempty"`
	Records int     `json:"records"`
	Rows    int64   `json:"rows"`
	Sum     int64   `json:"sum"`
}

// visit counts a record.
func (f *arrowFigure) visit(rows, sum int64) {
	f.Records, f.Rows, f.Sum = f.Records+1, f.Rows+rows, f.Sum+sum
}

// Arrow measures the cost of handing out a fleet with `rows` rows as Arrow.
func Arrow(rows int64, repeat int) error {
	if rows < 1 || repeat < 1 {
		return errors.New("arrow wants at least one row and one repetition")
	}
	out := struct {
		Keys    map[string]string `json:"keys"`
		Machine string            `json:"machine"`
		Repeat  int               `json:"repeat"`
		Fleet   filled            `json:"fleet"`
		Figures []arrowFigure     `json:"figures"`
	}{
		Keys: arrowKeys, Repeat: repeat,
		Machine: results.Machine(),
	}
	err := WithFleet(fleet.Variant{}, rows, func(q *FilledFleet) (err error) {
		out.Fleet = q.about
		out.Figures, err = arrowFigures(q, repeat)
		return err
	})
	if err != nil {
		return err
	}
	others, err := frostArrow(fleet.New(fleet.Seed), out.Fleet.Profiles, repeat)
	if err != nil {
		return fmt.Errorf("frostdb: %w", err)
	}
	out.Figures = append(out.Figures, others...)
	return results.Print(out)
}

// arrowFigures measures this store.
func arrowFigures(q *FilledFleet, repeat int) (figures []arrowFigure, err error) {
	for _, one := range []struct {
		name string
		must float64
		ask  func() iter.Seq2[arrow.Record, error]
	}{
		{"scan-native", 60, scanAs(q, columnstore.ScanOptions{Form: columnstore.Native})},
		{"scan-dictionary", 100, scanAs(q, columnstore.ScanOptions{Form: columnstore.Dictionary})},
		{"scan-dictionary-own", 0, scanAs(q, columnstore.ScanOptions{Form: columnstore.Dictionary, OwnDictionaries: true})},
		{"scan-plain", 0, scanAs(q, columnstore.ScanOptions{Form: columnstore.Plain})},
		{"merge-dictionary", 80, mergeAs(q, columnstore.Dictionary)},
		{"merge-plain", 0, mergeAs(q, columnstore.Plain)},
	} {
		f, err := measureArrow(repeat, func(f *arrowFigure) error {
			for rec, err := range one.ask() {
				if err != nil {
					return err
				}
				f.visit(rec.NumRows(), sumOf(rec))
				rec.Release()
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		f.Name, f.Must = one.name, one.must
		figures = append(figures, f)
	}
	return figures, nil
}

func scanAs(q *FilledFleet, opts columnstore.ScanOptions) func() iter.Seq2[arrow.Record, error] {
	return func() iter.Seq2[arrow.Record, error] { return q.Table.Scan(context.Background(), q.Snap, opts) }
}

func mergeAs(q *FilledFleet, form columnstore.Form) func() iter.Seq2[arrow.Record, error] {
	return func() iter.Seq2[arrow.Record, error] {
		return func(yield func(arrow.Record, error) bool) {
			groups, err := q.Table.Aggregate(context.Background(), q.Snap, columnstore.AggregateOptions{
				Sum: profile.ColumnValue, By: []string{profile.ColumnStacktrace},
			})
			if err != nil {
				yield(nil, err)
				return
			}
			yield(groups.Record(columnstore.RecordOptions{Form: form}))
		}
	}
}

// frostArrow measures FrostDB with a fleet's first profiles.
func frostArrow(from *fleet.Fleet, profiles, repeat int) ([]arrowFigure, error) {
	f, err := peers.OpenParca()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // all answers are in
	fmt.Fprintf(os.Stderr, "bench: fill FrostDB with %d profiles\n", profiles)
	for n := range profiles {
		if err := errors.Join(f.Insert(from.Profile(n, fleet.Start)), f.Maintain()); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(f.Rest(), f.Settle(), f.Rest()); err != nil {
		return nil, err
	}
	scan, err := measureArrow(repeat, func(to *arrowFigure) error { return f.VisitRecords(to.visit) })
	if err != nil {
		return nil, err
	}
	merge, err := measureArrow(repeat, func(to *arrowFigure) error {
		to.Records = 1
		return f.VisitStacks(func(sum int64) { to.Rows, to.Sum = to.Rows+1, to.Sum+sum })
	})
	if err != nil {
		return nil, err
	}
	scan.Name, merge.Name = "frostdb-scan", "frostdb-merge"
	return []arrowFigure{scan, merge}, nil
}

// measureArrow requests records `repeat` times, after one time to warm up.
func measureArrow(repeat int, ask func(f *arrowFigure) error) (f arrowFigure, err error) {
	var costs []float64
	for i := range repeat + 1 {
		f = arrowFigure{}
		runtime.GC()
		start := measure.CPU()
		if err := ask(&f); err != nil {
			return f, err
		}
		if i > 0 {
			costs = append(costs, float64(measure.CPU()-start)/float64(time.Millisecond))
		}
	}
	f.CPUms = results.Median(costs)
	return f, nil
}

// sumOf returns the sum over a record's column of values or sums.
func sumOf(rec arrow.Record) (sum int64) {
	for _, name := range []string{"value", "sum"} {
		for _, at := range rec.Schema().FieldIndices(name) {
			for _, v := range rec.Column(at).(*array.Int64).Int64Values() {
				sum += v
			}
		}
	}
	return sum
}
