package iceberg

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg"
	"github.com/granarydb/granary/profile"
)

// workloads are the rows of the targets: a fleet of 200 pods for 24 s, and a node of 16 pods
// for 20 minutes.
var workloads = map[string]struct {
	variant fleet.Variant
	rows    int
	symbols bool // in the tables beside
}{
	"fleet":         {fleet.Variant{Symbols: true, Traces: true}, 1_000_000, false},
	"fleet-symbols": {fleet.Variant{Symbols: true, Traces: true}, 1_000_000, true},
	"node":          {fleet.Variant{Jobs: 2, Symbols: true, Traces: true}, 4_000_000, false},
	"node-symbols":  {fleet.Variant{Jobs: 2, Symbols: true, Traces: true}, 4_000_000, true},
}

// BenchmarkUnit writes and commits the rows of a workload as one unit. It reports bytes a row
// of the files, rows a second of processor time, and the greatest heap beside the store's.
func BenchmarkUnit(b *testing.B) {
	for name, w := range workloads {
		b.Run(name, func(b *testing.B) {
			u := fill(b, w.variant, w.rows, time.Hour)
			ctx := context.Background()
			dir := b.TempDir()
			l, err := iceberg.Open(ctx, iceberg.Config{Catalog: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: dir})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			if err := l.Create(ctx, iceberg.TableOptions{Labels: []string{"job", "pod", "namespace"}, Symbols: w.symbols}); err != nil {
				b.Fatal(err)
			}
			if err := l.Register(ctx, u.Node, ""); err != nil {
				b.Fatal(err)
			}
			limitMemory(b)
			heap := watchHeap(b)
			var rows, bytes int64
			used := cpuTime(b)
			for b.Loop() {
				u.Seal++
				files, err := l.Write(ctx, u)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := l.Commit(ctx, files); err != nil {
					b.Fatal(err)
				}
				rows, bytes = rows+files.Rows, bytes+files.Bytes
			}
			used = cpuTime(b) - used
			b.ReportMetric(float64(bytes)/float64(rows), "B/row")
			b.ReportMetric(float64(rows)/used.Seconds()/1e6, "Mrows/s/core")
			b.ReportMetric(float64(heap())/(1<<20), "MiB-beside")
		})
	}
}

var (
	compactUnits = flag.Int("compact.units", 1000, "the number of units of BenchmarkCompact")
	compactRows  = flag.Int("compact.rows", 4_000_000, "the number of their rows")
	compactDir   = flag.String("compact.dir", "", "BenchmarkCompact makes its table in this `FOLDER`, and leaves it as it is, for other engines and granary-lake maintain")
)

// BenchmarkCompact joins the files of small units of a node of 16 pods. It reports bytes a row before and after, rows a second of
// processor time, and the greatest heap beside the store's.
func BenchmarkCompact(b *testing.B) {
	ctx := context.Background()
	u := fill(b, fleet.Variant{Jobs: 2, Symbols: true, Traces: true}, *compactRows, 10*time.Second)
	limitMemory(b)
	for b.Loop() {
		b.StopTimer()
		dir := *compactDir
		if dir == "" {
			dir = b.TempDir()
		}
		l, err := iceberg.Open(ctx, iceberg.Config{Catalog: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: dir})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Create(ctx, iceberg.TableOptions{Labels: []string{"job", "pod", "namespace"}}); err != nil {
			b.Fatal(err)
		}
		if err := l.Register(ctx, u.Node, ""); err != nil {
			b.Fatal(err)
		}
		span, rows := (20*time.Minute).Nanoseconds()*int64(*compactRows)/4_000_000, int64(0)
		for i := range int64(*compactUnits) {
			part := u
			part.Seal, part.From, part.To = i+1, u.From+span*i/int64(*compactUnits), u.From+span*(i+1)/int64(*compactUnits)
			if i == int64(*compactUnits)-1 {
				part.To = u.To
			}
			files, err := l.Write(ctx, part)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := l.Commit(ctx, files); err != nil {
				b.Fatal(err)
			}
			rows += files.Rows
		}
		b.Logf("%d rows of %d units", rows, *compactUnits)
		if *compactDir != "" {
			b.SkipNow()
		}
		heap, used := watchHeap(b), cpuTime(b)
		b.StartTimer()
		did, err := l.Compact(ctx, iceberg.CompactOptions{Before: time.Now(), Files: 2, Small: 32 << 20})
		if err != nil || did.Rows != rows {
			b.Fatal(did, err)
		}
		b.StopTimer()
		used = cpuTime(b) - used
		b.ReportMetric(float64(did.Files), "files")
		b.ReportMetric(float64(did.New), "new-files")
		b.ReportMetric(float64(did.Before)/float64(rows), "B/row-before")
		b.ReportMetric(float64(did.After)/float64(rows), "B/row-after")
		b.ReportMetric(float64(rows)/used.Seconds()/1e6, "Mrows/s/core")
		b.ReportMetric(float64(heap())/(1<<20), "MiB-beside")
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// fill inserts the rows of a workload into a store with buckets of a duration.
func fill(b *testing.B, v fleet.Variant, rows int, bucket time.Duration) iceberg.Unit {
	b.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{Bucket: bucket})
	if err != nil {
		b.Fatal(err)
	}
	f := fleet.NewVariant(fleet.Seed, v)
	for n, have := 0, 0; have < rows; n++ {
		made := f.Profile(n, fleet.Start)
		have += made.Rows
		if _, err := db.Table().Insert(context.Background(), made); err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Compact(context.Background()); err != nil {
		b.Fatal(err)
	}
	snap, err := store.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(snap.Close)
	b.Logf("%d rows, %d stacks", store.Stats().Rows, store.Stats().Stacks)
	at := fleet.Start.UnixNano()
	seen, empty := map[string]bool{}, 0
	opts := columnstore.ScanOptions{Form: columnstore.Plain, Limit: 1000, Columns: []string{profile.ColumnStacktrace}, Elements: names}
	for rec, err := range db.Table().Scan(context.Background(), snap, opts) {
		if err != nil {
			b.Fatal(err)
		}
		lists := rec.Column(0).(*array.List)
		for i := range lists.Len() {
			from, to := lists.ValueOffsets(i)
			if from == to {
				empty++
			}
			for j := from; j < to; j++ {
				seen[strings.Clone(lists.ListValues().(*array.String).Value(int(j)))] = true
			}
		}
		rec.Release()
	}
	if len(seen) < 100 || empty > 0 {
		b.Fatalf("%d names in a thousand stacks, %d of them empty", len(seen), empty)
	}
	return iceberg.Unit{Node: "node-1", From: at, To: at + int64(time.Hour), Table: db.Table(), Snapshot: snap, Names: names}
}

// names returns the name in the record of a fleet's location.
func names(dst []string, _ uuid.UUID, record []byte) []string {
	name, _, _ := strings.Cut(string(record), "\x00")
	return append(dst, name)
}
