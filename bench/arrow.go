package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"time"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	array18 "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/polarsignals/frostdb/query/logicalplan"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// arrowKeys says what each figure is.
var arrowKeys = map[string]string{
	"cpu_ms":              "CPU time of the process, collections included: median of repeat, after one to warm up, each after a collection. Every record is made, its rows are counted and the values summed, and it is released",
	"must_ms":             "what cpu_ms may be at a million rows",
	"scan-*":              "all rows and columns, in the form",
	"scan-dictionary-own": "with stacks of its own rows in the dictionary of each record, as engines want that convert it each time; without, records share one",
	"merge-*":             "sums by stack of all rows as one record: stacks as lists of ids, each once",
	"frostdb-*":           "the same of FrostDB with Parca's schema, after its compaction: its own scan to Arrow, and its sums by stack; rows are those of the answer, stacks are bytes",
	"records":             "that the answer has",
}

// arrowFigure is what making Arrow took.
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

// runArrow measures what it costs to hand out a fleet of so many rows as Arrow.
func runArrow(rows int64, repeat int) error {
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
		Machine: fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()),
	}
	err := withFleet(fleetVariant{}, rows, func(q *queryFleet) (err error) {
		out.Fleet = q.about
		out.Figures, err = q.arrowFigures(repeat)
		return err
	})
	if err != nil {
		return err
	}
	others, err := frostArrow(newFleet(peerSeed), out.Fleet.Profiles, repeat)
	if err != nil {
		return fmt.Errorf("frostdb: %w", err)
	}
	out.Figures = append(out.Figures, others...)
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// arrowFigures measures this store.
func (q *queryFleet) arrowFigures(repeat int) (figures []arrowFigure, err error) {
	for _, one := range []struct {
		name string
		must float64
		ask  func() iter.Seq2[arrow.Record, error]
	}{
		{"scan-native", 60, q.scanAs(columnstore.ScanOptions{Form: columnstore.Native})},
		{"scan-dictionary", 100, q.scanAs(columnstore.ScanOptions{Form: columnstore.Dictionary})},
		{"scan-dictionary-own", 0, q.scanAs(columnstore.ScanOptions{Form: columnstore.Dictionary, OwnDictionaries: true})},
		{"scan-plain", 0, q.scanAs(columnstore.ScanOptions{Form: columnstore.Plain})},
		{"merge-dictionary", 80, q.mergeAs(columnstore.Dictionary)},
		{"merge-plain", 0, q.mergeAs(columnstore.Plain)},
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

func (q *queryFleet) scanAs(opts columnstore.ScanOptions) func() iter.Seq2[arrow.Record, error] {
	return func() iter.Seq2[arrow.Record, error] { return q.table.Scan(context.Background(), q.snap, opts) }
}

func (q *queryFleet) mergeAs(form columnstore.Form) func() iter.Seq2[arrow.Record, error] {
	return func() iter.Seq2[arrow.Record, error] {
		return func(yield func(arrow.Record, error) bool) {
			groups, err := q.table.Aggregate(context.Background(), q.snap, columnstore.AggregateOptions{
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

// frostArrow measures FrostDB with the first so many profiles of a fleet.
func frostArrow(from *fleet, profiles, repeat int) ([]arrowFigure, error) {
	p, err := openFrost(parcaDefinition())
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.close() }() // it has been asked all there is
	fmt.Fprintf(os.Stderr, "bench: fill FrostDB with %d profiles\n", profiles)
	f := p.(*frost)
	for n := range profiles {
		if err := errors.Join(f.insert(from.profile(n, peerStart)), f.maintain()); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(f.rest(), f.settle(), f.rest()); err != nil {
		return nil, err
	}
	scan, err := measureArrow(repeat, f.visitRows)
	if err != nil {
		return nil, err
	}
	merge, err := measureArrow(repeat, f.visitStacks)
	if err != nil {
		return nil, err
	}
	scan.Name, merge.Name = "frostdb-scan", "frostdb-merge"
	return []arrowFigure{scan, merge}, nil
}

// visitRows counts all rows and sums their values.
func (f *frost) visitRows(to *arrowFigure) error {
	var columns []logicalplan.Expr
	for _, c := range f.definition.Columns {
		if c.Dynamic {
			columns = append(columns, logicalplan.DynCol(c.Name))
		} else {
			columns = append(columns, logicalplan.Col(c.Name))
		}
	}
	return f.scan(nil).Project(columns...).Execute(context.Background(), func(_ context.Context, r arrow18.Record) error {
		sum := int64(0)
		for _, v := range frostColumn(r, profile.ColumnValue).(*array18.Int64).Int64Values() {
			sum += v
		}
		to.visit(r.NumRows(), sum)
		return nil
	})
}

// visitStacks counts the stacks and sums their sums.
func (f *frost) visitStacks(to *arrowFigure) error {
	to.Records = 1
	return f.group(profile.ColumnStacktrace, nil, func(_ arrow18.Array, _ int, sum, _ int64) { to.Rows, to.Sum = to.Rows+1, to.Sum+sum })
}

// measureArrow asks for records, once to warm up.
func measureArrow(repeat int, ask func(f *arrowFigure) error) (f arrowFigure, err error) {
	var costs []float64
	for i := range repeat + 1 {
		f = arrowFigure{}
		runtime.GC()
		start := cpuTime()
		if err := ask(&f); err != nil {
			return f, err
		}
		if i > 0 {
			costs = append(costs, float64(cpuTime()-start)/float64(time.Millisecond))
		}
	}
	f.CPUms = median(costs)
	return f, nil
}

// sumOf returns the sum of a record's column of values or sums.
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
