package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/query/filter"
)

// TestHistoryScan compares records with At and Range, one interval at a time.
func TestHistoryScan(t *testing.T) {
	effort.Slow(t)
	ctx := context.Background()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for seed := range uint64(4 - 3*boolInt(effort.Brief())) { // one goroutine scans
		rng := rand.New(rand.NewPCG(seed, 6))
		views := oddViews(t, seed)
		for round := range 12 {
			view := views[rng.IntN(len(views))]
			q := HistoryScan{View: view, Attributes: someAttributes(rng, view), Memory: mem}
			wanted := allOf(view, q.Attributes)
			from, to := instant(rng, view), instant(rng, view)
			from, to = min(from, to), max(from, to)
			times := []int64{to, from, instant(rng, view), from}[:rng.IntN(5)]

			var inRange, inSlice, inSample, inPixels []string
			for _, a := range wanted {
				for in, err := range view.Range(a, from, to, history.RangeOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					inRange = append(inRange, intervalText(view, a, in))
				}
				inSample = append(inSample, hit(t, view, a, times)...)
				inSlice = append(inSlice, hit(t, view, a, []int64{to})...)
			}
			found, err := view.Pixels(wanted, from, to, 1+round)
			if err != nil {
				t.Fatal(err)
			}
			for i := range found.Len() {
				a, in := found.At(i)
				inPixels = append(inPixels, intervalText(view, a, in))
			}
			for _, q.Form = range recordForms {
				for _, c := range []struct {
					name string
					want []string
					scan iter.Seq2[arrow.Record, error]
				}{
					{"range", inRange, q.Range(ctx, from, to)},
					{"slice", inSlice, q.Slice(ctx, to)},
					{"sample", inSample, q.Sample(ctx, times)},
					{"pixels", inPixels, q.Pixels(ctx, from, to, 1+round)},
				} {
					if diff := cmp.Diff(c.want, scanTexts(t, q, c.scan)); diff != "" {
						t.Fatalf("seed %d, round %d, %s from %d to %d as %v (-want +got):\n%s", seed, round, c.name, from, to, q.Form, diff)
					}
				}
			}
		}
	}
}

// TestHistoryScan_Options: rows and columns that are left out.
func TestHistoryScan_Options(t *testing.T) {
	ctx := context.Background()
	views := oddViews(t, 9)
	view := views[2]
	rng := rand.New(rand.NewPCG(1, 2))
	for _, form := range recordForms {
		q := HistoryScan{View: view, Form: form}
		all := scanTexts(t, q, q.Range(ctx, view.Start(), view.End()))
		var values []string
		for _, row := range all {
			if !strings.HasSuffix(row, " null null") {
				values = append(values, row)
			}
		}
		if len(values) == 0 || len(values) == len(all) {
			t.Fatalf("%d of %d intervals have a value", len(values), len(all))
		}
		q.NoNulls = true
		if diff := cmp.Diff(values, scanTexts(t, q, q.Range(ctx, view.Start(), view.End()))); diff != "" {
			t.Errorf("%v without null (-want +got):\n%s", form, diff)
		}
		for _, limit := range []int{1, 2, 1000, len(values) - 1, len(values), len(values) + 1} {
			q.Limit = limit
			if diff := cmp.Diff(values[:min(limit, len(values))], scanTexts(t, q, q.Range(ctx, view.Start(), view.End()))); diff != "" {
				t.Errorf("%v, the first %d (-want +got):\n%s", form, limit, diff)
			}
		}
		checkColumns(t, rng, HistoryScan{View: view, Form: form})
		q = HistoryScan{View: view, Form: form, Resolution: 100, Attributes: []history.Attribute{4}}
		var grid []string
		for in := range view.Range(4, view.Start(), view.End(), history.RangeOptions{Resolution: 100}) {
			grid = append(grid, intervalText(view, 4, in))
		}
		if diff := cmp.Diff(grid, scanTexts(t, q, q.Range(ctx, view.Start(), view.End()))); diff != "" {
			t.Errorf("%v at a resolution (-want +got):\n%s", form, diff)
		}
	}
}

// checkColumns compares scans of some columns with a scan of all.
func checkColumns(t *testing.T, rng *rand.Rand, q HistoryScan) {
	t.Helper()
	all, err := q.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all.Fields() {
		names = append(names, f.Name)
	}
	cells := func(columns []string) map[string][]any {
		q.Columns = columns
		out := map[string][]any{}
		rows := 0
		for rec, err := range q.Range(context.Background(), q.View.Start(), q.View.End()) {
			if err != nil {
				t.Fatal(err)
			}
			rows += int(rec.NumRows())
			for i, f := range rec.Schema().Fields() {
				for row := range int(rec.NumRows()) {
					out[f.Name] = append(out[f.Name], arrowCell(t, rec.Column(i), row))
				}
			}
			rec.Release()
		}
		out["rows"] = []any{rows}
		return out
	}
	whole := cells(nil)
	for range 4 {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		some := names[:rng.IntN(len(names))]
		got := cells(some)
		for _, name := range append([]string{"rows"}, some...) {
			if diff := cmp.Diff(whole[name], got[name]); diff != "" {
				t.Fatalf("%v: %s of %q (-want +got):\n%s", q.Form, name, some, diff)
			}
		}
		if len(got) != len(some)+1 {
			t.Fatalf("%d columns for %q", len(got), some)
		}
	}
}

// TestHistoryScan_Errors: an error is the only element.
func TestHistoryScan_Errors(t *testing.T) {
	ctx := context.Background()
	view := oddViews(t, 3)[6]
	states, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	all := HistoryScan{View: view}
	strange := HistoryScan{View: view, Attributes: []history.Attribute{0, history.Attribute(view.Len())}}
	root := HistoryScan{View: view, Attributes: []history.Attribute{history.Top}}
	none := HistoryScan{View: view, Attributes: []history.Attribute{}}
	for name, c := range map[string]struct {
		scan iter.Seq2[arrow.Record, error]
		want error
	}{
		"no view":           {HistoryScan{}.Slice(ctx, 0), filter.ErrQuery},
		"form":              {HistoryScan{View: view, Form: 9}.Slice(ctx, 0), filter.ErrQuery},
		"column":            {HistoryScan{View: view, Columns: []string{"value"}}.Slice(ctx, 0), filter.ErrQuery},
		"column twice":      {HistoryScan{View: view, Columns: []string{"end", "end"}}.Slice(ctx, 0), filter.ErrQuery},
		"limit":             {HistoryScan{View: view, Limit: -1}.Slice(ctx, 0), filter.ErrQuery},
		"resolution":        {HistoryScan{View: view, Resolution: -1}.Range(ctx, 0, 0), history.ErrQuery},
		"canceled":          {all.Slice(canceled, 0), context.Canceled},
		"before":            {all.Slice(ctx, view.Start()-1), history.ErrOutside},
		"range before":      {all.Range(ctx, view.Start()-1, 0), history.ErrOutside},
		"range behind":      {none.Range(ctx, 0, view.End()+1), history.ErrOutside},
		"range turned":      {all.Range(ctx, 1, 0), history.ErrQuery},
		"sample behind":     {all.Sample(ctx, []int64{0, view.End() + 1, 1}), history.ErrOutside},
		"pixels":            {all.Pixels(ctx, 0, 1, 0), history.ErrQuery},
		"pixels before":     {all.Pixels(ctx, math.MinInt64, 1, 1), history.ErrOutside},
		"attribute, range":  {strange.Range(ctx, 0, 1), history.ErrAttribute},
		"attribute, slice":  {strange.Slice(ctx, 0), history.ErrAttribute},
		"attribute, sample": {strange.Sample(ctx, []int64{0}), history.ErrAttribute},
		"attribute, pixels": {strange.Pixels(ctx, 0, 1, 1), history.ErrAttribute},
		"root":              {root.Slice(ctx, 0), history.ErrAttribute},
		"no instant":        {HistoryScan{View: states.Empty()}.Slice(ctx, 0), history.ErrOutside},
	} {
		n := 0
		for rec, err := range c.scan {
			if n++; rec != nil || !errors.Is(err, c.want) {
				t.Errorf("%s: %v, %v, want %v", name, rec, err, c.want)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d elements, want one error", name, n)
		}
	}
	for name, scan := range map[string]iter.Seq2[arrow.Record, error]{
		"range": none.Range(ctx, 0, 1), "slice": none.Slice(ctx, 0), "sample": none.Sample(ctx, []int64{0}),
		"pixels": none.Pixels(ctx, 0, 1, 1), "no times": all.Sample(ctx, nil),
	} {
		for rec, err := range scan {
			t.Errorf("%s of nothing: %v, %v", name, rec, err)
		}
	}
	if _, err := (HistoryScan{Form: 9}).Schema(); !errors.Is(err, filter.ErrQuery) {
		t.Errorf("the schema of an unknown form: %v", err)
	}
}

// TestHistoryScan_Records: the size of records, and the release of their memory when the
// receiver stops, or its context is canceled.
func TestHistoryScan_Records(t *testing.T) {
	view := manyStates(t, 30, 2400, intValue)
	const want = 30*2401 + 31 // from before the first change of each, plus the parents
	for _, form := range recordForms {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		q := HistoryScan{View: view, Form: form, Memory: mem}
		rows, records := int64(0), 0
		for rec, err := range q.Range(context.Background(), 0, view.End()) {
			if err != nil {
				t.Fatal(err)
			}
			if rows += rec.NumRows(); rec.NumRows() != recordRows && rows < want-1 {
				t.Errorf("%v: a record of %d rows", form, rec.NumRows())
			}
			records++
			rec.Release()
		}
		if records != 3 || rows < want-30 || rows > want {
			t.Errorf("%v: %d rows in %d records", form, rows, records)
		}
		for _, limit := range []int64{4096, 5000, recordRows + 1} {
			limited := q
			limited.Limit = int(limit)
			rows = 0
			for rec, err := range limited.Range(context.Background(), 0, view.End()) {
				if err != nil {
					t.Fatal(err)
				}
				rows += rec.NumRows()
				rec.Release()
			}
			if rows != limit {
				t.Errorf("%v: %d rows of at most %d", form, rows, limit)
			}
		}
		var kept arrow.Record
		for rec := range q.Range(context.Background(), 0, view.End()) {
			kept = rec // the record outlives the scan
			break
		}
		last := kept.NewSlice(recordRows-100, recordRows)
		if len(recordTexts(t, last)) != 100 {
			t.Errorf("%v: %d rows are left of a record", form, kept.NumRows())
		}
		last.Release()
		kept.Release()
		ctx, cancel := context.WithCancel(context.Background())
		records = 0
		for rec, err := range q.Range(ctx, 0, view.End()) {
			if records++; records == 3 {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%v: %v, want it canceled", form, err)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.Release(); records == 2 {
				cancel()
			}
		}
		if cancel(); records != 3 {
			t.Errorf("%v: %d records", form, records)
		}
		mem.AssertSize(t, 0)
	}
}

// TestHistoryScan_RecordBytes: records end where their texts are large.
func TestHistoryScan_RecordBytes(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine scans")
	}
	text := strings.Repeat("x", 64<<10-8)
	for name, value := range map[string]func(i int) history.Value{
		"strings": func(i int) history.Value { return history.String(fmt.Sprintf("%s%08d", text, i)) },
		"bytes":   func(i int) history.Value { return history.Bytes(fmt.Appendf(nil, "%s%08d", text, i)) },
	} {
		view := manyStates(t, 1, 700, value)
		for _, form := range []arrowconv.Form{arrowconv.FormDictionary, arrowconv.FormPlain} {
			q := HistoryScan{View: view, Form: form, NoNulls: true}
			var sizes []int64
			for rec, err := range q.Range(context.Background(), 0, view.End()) {
				if err != nil {
					t.Fatal(err)
				}
				sizes = append(sizes, rec.NumRows())
				rec.Release()
			}
			// 512 values of 64 KiB are 32 MiB. The offsets add a little.
			if len(sizes) != 2 || sizes[0]+sizes[1] != 700 || sizes[0] > 512 || sizes[0] < 500 {
				t.Errorf("%s as %v: records of %d rows", name, form, sizes)
			}
		}
	}
}

// change is a new value of an attribute at an instant.
type change struct {
	at   int64
	name string
	v    history.Value
}

// changed commits changes, and returns the view with them.
func changed(t *testing.T, states *history.History, changes ...change) *history.View {
	t.Helper()
	tx, err := states.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		a, err := tx.Attribute(c.name)
		if err == nil {
			err = tx.Change(c.at, a, c.v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// TestHistoryScan_Snapshot: a scan of a snapshot while the history goes on.
func TestHistoryScan_Snapshot(t *testing.T) {
	states, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := HistoryScan{View: changed(t, states, change{5, "a", history.Int(1)})}
	changed(t, states, change{6, "a", history.Int(2)}, change{7, "b", history.Int(3)})
	want := []string{`0 "a" 0..4 false null null`, `0 "a" 5..5 true int 1`}
	if diff := cmp.Diff(want, scanTexts(t, q, q.Range(context.Background(), 0, 5))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHistoryScan_WhileWritten: scans of a view are the same while the history goes on.
func TestHistoryScan_WhileWritten(t *testing.T) {
	states, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(from int64) *history.View {
		var changes []change
		for at := from; at < from+200; at++ {
			changes = append(changes, change{at, fmt.Sprint("a", at%(20+from/200)), history.String(fmt.Sprint(at % 7))})
		}
		return changed(t, states, changes...)
	}
	q := HistoryScan{View: write(0)}
	all := func() []string {
		rows := scanTexts(t, q, q.Range(context.Background(), 0, q.View.End()))
		rows = append(rows, scanTexts(t, q, q.Slice(context.Background(), q.View.End()))...)
		return append(rows, scanTexts(t, q, q.Pixels(context.Background(), 0, q.View.End(), 9))...)
	}
	want := all()
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		for from := int64(200); from < 20_000; from += 200 {
			write(from)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if diff := cmp.Diff(want, all()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}
