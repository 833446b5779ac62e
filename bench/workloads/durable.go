package workloads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// durableReport has a directory's costs. Times are CPU times; ratios compare runs in turns with and without
// a directory. All are medians.
type durableReport struct {
	Made fleet.Shape `json:"made"`

	LogBytesRow  float64        `json:"log_bytes_per_row"` // dictionaries included
	RowsLog      float64        `json:"log_bytes_per_row_without_dictionaries"`
	FileBytesRow float64        `json:"file_bytes_per_row"`
	Insert       results.Spread `json:"insert_codes_ratio"`            // one transaction a profile, known stacks
	Maintained   results.Spread `json:"insert_codes_maintained_ratio"` // plus the maintenance that is due
	ReplayMRowsS float64        `json:"replay_m_rows_per_s"`           // only from the log
	ReplayMs     float64        `json:"open_killed_ms"`                // wall time, until a query is answered
	OpenMs       float64        `json:"open_closed_ms"`                // wall time, until a query is answered
	OpenNsRow    float64        `json:"open_closed_ns_per_row"`
	CloseNsRow   float64        `json:"close_ns_per_row"` // all rows are only in the log
}

// DurableRun has the costs of one run with a directory.
type DurableRun struct {
	Rows     int64
	Insert   time.Duration // CPU time of the inserting thread, like the next
	Maintain time.Duration

	LogBytes     int64 // for all rows and dictionaries
	RowsLogBytes int64 // the same without dictionaries, which the first entries have
	FileBytes    int64 // after Close

	Closing time.Duration // CPU time of the closing thread
	Killed  Opening       // only from the log
	Closed  Opening       // only from files
}

// Opening is the cost of Open with one processor, until a query about the series is answered.
type Opening struct{ CPU, Wall time.Duration }

// ReplayMRowsS returns Open's speed with all rows and dictionaries in the log, in million rows per second
// of CPU time.
func (r *DurableRun) ReplayMRowsS() float64 { return float64(r.Rows) / r.Killed.CPU.Seconds() / 1e6 }

// Durable measures a directory with the fleet: its cost for inserts, its bytes, and restarts.
func Durable(rows int64, repeat int) error {
	f := fleet.New(fleet.Seed)
	r := durableReport{Made: f.Describe(int(rows))}
	var insert, maintained []float64
	var runs []DurableRun
	for range max(1, repeat) {
		c, err := CompareDurable(f, r.Made)
		if err != nil {
			return err
		}
		insert, maintained, runs = append(insert, c.Insert), append(maintained, c.Maintained), append(runs, c.Run)
	}
	r.Insert, r.Maintained = results.SpreadOf(insert), results.SpreadOf(maintained)
	of := func(get func(*DurableRun) float64) float64 {
		var values []float64
		for i := range runs {
			values = append(values, get(&runs[i]))
		}
		return results.Median(values)
	}
	n := float64(r.Made.Rows)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	r.LogBytesRow = of(func(d *DurableRun) float64 { return float64(d.LogBytes) / n })
	r.RowsLog = of(func(d *DurableRun) float64 { return float64(d.RowsLogBytes) / n })
	r.FileBytesRow = of(func(d *DurableRun) float64 { return float64(d.FileBytes) / n })
	r.ReplayMRowsS = of((*DurableRun).ReplayMRowsS)
	r.ReplayMs = of(func(d *DurableRun) float64 { return ms(d.Killed.Wall) })
	r.OpenMs = of(func(d *DurableRun) float64 { return ms(d.Closed.Wall) })
	r.OpenNsRow = of(func(d *DurableRun) float64 { return float64(d.Closed.CPU) / n })
	r.CloseNsRow = of(func(d *DurableRun) float64 { return float64(d.Closing) / n })
	return results.Print(r)
}

// DurableComparison is a run with a directory, and the factors by which the directory multiplies times.
type DurableComparison struct {
	Insert, Maintained float64 // inserts by codes for known stacks; plus the maintenance that is due
	Run                DurableRun
}

// CompareDurable inserts a fleet into a store without a directory, into a store with one, and again into a
// store without, because the first to take memory from the system pays for it.
func CompareDurable(f *fleet.Fleet, m fleet.Shape) (c DurableComparison, err error) {
	var insert, maintained time.Duration // for both stores without a directory
	for i := range 2 {
		memory, l, err := durableInsert(f, m, columnstore.Options{})
		if err != nil {
			return c, err
		}
		if err := l.store.Close(); err != nil {
			return c, err
		}
		insert, maintained = insert+memory.Insert, maintained+memory.Insert+memory.Maintain
		if i > 0 {
			break
		}
		if c.Run, err = MeasureDurable(f, m); err != nil {
			return c, err
		}
	}
	c.Insert = 2 * float64(c.Run.Insert) / float64(insert)
	c.Maintained = 2 * float64(c.Run.Insert+c.Run.Maintain) / float64(maintained)
	return c, nil
}

// durableBucket is the width of the time buckets.
const durableBucket = 15 * time.Minute

// durableLoad is a store with a fleet that begins at from.
type durableLoad struct {
	store *columnstore.Store
	codes *columnstore.Codes
	coder *fleet.Coder
	from  time.Time
	begun columnstore.Stats // when all dictionaries and the first rows are in the log
}

// durableInsert inserts a fleet by codes and leaves the store open. A directory's commits are in its queue
// when they return, and are written by the same goroutine when that is full.
func durableInsert(f *fleet.Fleet, m fleet.Shape, opts columnstore.Options) (run DurableRun, l *durableLoad, err error) {
	l = &durableLoad{from: fleet.RecentStart()}
	opts.Manual = true
	if l.store, err = columnstore.Open(opts); err != nil {
		return run, nil, err
	}
	if err = l.intern(f, m); err == nil {
		err = l.insert(f, m, &run)
	}
	if err != nil {
		return run, nil, errors.Join(err, l.store.Close())
	}
	run.Rows = int64(m.Rows)
	return run, l, nil
}

// intern creates the table, and makes a fleet's codes.
func (l *durableLoad) intern(f *fleet.Fleet, m fleet.Shape) error {
	table, err := l.store.CreateTable("profiles", profile.Schema(durableBucket))
	if err != nil {
		return err
	}
	if l.codes, err = table.Codes(l.from.UnixNano()); err != nil {
		return err
	}
	l.coder = fleet.NewCoder(l.codes)
	for n := range m.Profiles {
		b := f.Profile(n, l.from)
		if len(b.Records) > 0 {
			ids := slices.Collect(maps.Keys(b.Records))
			records := make([][]byte, len(ids))
			for i, id := range ids {
				records[i] = b.Records[id]
			}
			if _, err := l.codes.Elements(nil, ids, records); err != nil {
				return err
			}
		}
		if _, err := l.coder.Code(b); err != nil {
			return err
		}
	}
	return nil
}

// insert inserts a fleet's profiles.
func (l *durableLoad) insert(f *fleet.Fleet, m fleet.Shape, run *DurableRun) (err error) {
	ctx := context.Background()
	for n := 0; n < m.Profiles; {
		before, batches := n, make([]schema.Batch, 0, chunk)
		for ; len(batches) < chunk && n < m.Profiles; n++ {
			b, err := l.coder.Code(f.Profile(n, l.from))
			if err != nil {
				return err
			}
			batches = append(batches, b)
		}
		spent := measure.OnThread(func() { err = insertCodes(ctx, l.store, l.codes, batches, 1) })
		if before > 0 { // the first commit logs everyone's dictionaries
			run.Insert += spent
		}
		if err == nil && n/maintainEvery > before/maintainEvery {
			run.Maintain += measure.OnThread(func() { err = l.store.Maintain(ctx) })
		}
		if err == nil && before == 0 {
			l.begun, err = l.durable("begun")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// durable makes all commits durable, by creating a table with that name.
func (l *durableLoad) durable(table string) (columnstore.Stats, error) {
	_, err := l.store.CreateTable(table, profile.Schema(0))
	return l.store.Stats(), err
}

// MeasureDurable inserts a fleet into a directory, opens copies of it as a kill would leave it, closes it,
// and opens it again.
func MeasureDurable(f *fleet.Fleet, m fleet.Shape) (run DurableRun, err error) {
	root, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return run, err
	}
	defer os.RemoveAll(root)
	dir, killed := filepath.Join(root, "store"), []string{filepath.Join(root, "k1"), filepath.Join(root, "k2"), filepath.Join(root, "k3")}
	// No file replaces the log before the store is closed.
	run, l, err := durableInsert(f, m, columnstore.Options{Dir: dir, LogBytes: 1 << 40})
	if err != nil {
		return run, err
	}
	synced, err := l.durable("synced")
	for i := 0; i < len(killed) && err == nil; i++ {
		err = os.CopyFS(killed[i], os.DirFS(dir))
	}
	if err != nil {
		return run, errors.Join(err, l.store.Close())
	}
	run.LogBytes = synced.LogBytes
	run.RowsLogBytes = (synced.LogBytes - l.begun.LogBytes) * synced.Rows / max(1, synced.Rows-l.begun.Rows)
	run.Closing = measure.OnThread(func() { err = l.store.Close() })
	if err != nil {
		return run, err
	}
	l = nil // because a collection would go through its rows
	if run.FileBytes, err = filesIn(dir); err != nil {
		return run, err
	}
	if run.Killed, err = openAgain(run.Rows, killed...); err != nil {
		return run, err
	}
	run.Closed, err = openAgain(run.Rows, dir, dir, dir)
	return run, err
}

// openAgain opens directories that have `rows` rows, closes them, and returns the medians.
func openAgain(rows int64, dirs ...string) (o Opening, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var cpu, wall []float64
	for _, dir := range dirs {
		runtime.GC()
		start, begun := measure.CPU(), time.Now()
		store, err := columnstore.Open(columnstore.Options{Dir: dir, Manual: true})
		if err != nil {
			return o, err
		}
		err = askSeries(store)
		cpu, wall = append(cpu, float64(measure.CPU()-start)), append(wall, float64(time.Since(begun)))
		if got := store.Stats().Rows; err == nil && got != rows {
			err = fmt.Errorf("%d of %d rows came back", got, rows)
		}
		if err := errors.Join(err, store.Close()); err != nil {
			return o, err
		}
	}
	return Opening{time.Duration(results.Median(cpu)), time.Duration(results.Median(wall))}, nil
}

// askSeries queries a store's sample types.
func askSeries(store *columnstore.Store) error {
	ctx := context.Background()
	return store.View(ctx, func(snap *columnstore.Snapshot) error {
		types, err := store.Table("profiles").SeriesValues(ctx, snap, profile.ColumnSampleType, columnstore.Expr{})
		if err == nil && len(types) == 0 {
			err = errors.New("the store has no sample type")
		}
		return err
	})
}

// filesIn returns the bytes of a directory's files but for the log.
func filesIn(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "log-") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
