package workloads

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/report"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// durableReport has the costs of a directory. Times are CPU times; ratios are of runs one after the
// other with and without a directory. All are medians.
type durableReport struct {
	Made fleet.Shape `json:"made"`

	LogBytesRow  float64       `json:"log_bytes_per_row"` // dictionaries included
	FileBytesRow float64       `json:"file_bytes_per_row"`
	Insert       report.Spread `json:"insert_codes_ratio"`            // one transaction a profile, known stacks
	Maintained   report.Spread `json:"insert_codes_maintained_ratio"` // and the maintenance that is due
	ReplayMRowsS float64       `json:"replay_m_rows_per_s"`           // of the log alone
	ReplayMs     float64       `json:"open_killed_ms"`                // wall time
	OpenMs       float64       `json:"open_closed_ms"`                // wall time
	OpenNsRow    float64       `json:"open_closed_ns_per_row"`
	CloseNsRow   float64       `json:"close_ns_per_row"` // all rows are in the log alone
}

// durableRun is one run with a directory.
type durableRun struct {
	insert, maintain         time.Duration
	logBytes, fileBytes      int64
	closing, replay, opening time.Duration
	killedWall, closedWall   time.Duration
}

// Durable measures a directory beside the fleet: what it adds to inserts, its bytes, and restarts.
func Durable(rows int64, repeat int) error {
	f := fleet.New(1)
	r := durableReport{Made: f.Describe(int(rows))}
	var insert, maintained []float64
	var runs []durableRun
	for range max(1, repeat) {
		var run durableRun
		memory, _, err := durableInsert(f, r.Made, columnstore.Options{})
		if err == nil {
			run, err = durableOnce(f, r.Made)
		}
		if err != nil {
			return err
		}
		insert = append(insert, float64(run.insert)/float64(memory.insert))
		maintained = append(maintained, float64(run.insert+run.maintain)/float64(memory.insert+memory.maintain))
		runs = append(runs, run)
	}
	r.Insert, r.Maintained = report.SpreadOf(insert), report.SpreadOf(maintained)
	of := func(get func(*durableRun) float64) float64 {
		var values []float64
		for i := range runs {
			values = append(values, get(&runs[i]))
		}
		return report.Median(values)
	}
	n := float64(r.Made.Rows)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	r.LogBytesRow = of(func(d *durableRun) float64 { return float64(d.logBytes) / n })
	r.FileBytesRow = of(func(d *durableRun) float64 { return float64(d.fileBytes) / n })
	r.ReplayMRowsS = of(func(d *durableRun) float64 { return n / d.replay.Seconds() / 1e6 })
	r.ReplayMs = of(func(d *durableRun) float64 { return ms(d.killedWall) })
	r.OpenMs = of(func(d *durableRun) float64 { return ms(d.closedWall) })
	r.OpenNsRow = of(func(d *durableRun) float64 { return float64(d.opening) / n })
	r.CloseNsRow = of(func(d *durableRun) float64 { return float64(d.closing) / n })
	return report.Print(r)
}

// durableInsert inserts a fleet by codes and leaves the store open. Commits of a directory are in
// its queue when they return, and are written by the same goroutine when that is full.
func durableInsert(f *fleet.Fleet, m fleet.Shape, opts columnstore.Options) (run durableRun, store *columnstore.Store, err error) {
	ctx, from := context.Background(), fleet.RecentStart()
	opts.Manual = true
	if store, err = columnstore.Open(opts); err != nil {
		return run, nil, err
	}
	table, err := store.CreateTable("profiles", profile.Schema(15*time.Minute))
	if err != nil {
		return run, nil, err
	}
	codes, err := table.Codes(from.UnixNano())
	if err != nil {
		return run, nil, err
	}
	coder := fleet.NewCoder(codes)
	for n := range m.Profiles {
		if _, err := coder.Code(f.Profile(n, from)); err != nil {
			return run, nil, err
		}
	}
	for n := 0; n < m.Profiles; {
		before, batches := n, make([]schema.Batch, 0, chunk)
		for ; len(batches) < chunk && n < m.Profiles; n++ {
			b, err := coder.Code(f.Profile(n, from))
			if err != nil {
				return run, nil, err
			}
			batches = append(batches, b)
		}
		spent := measure.OnThread(func() { err = insertCodes(ctx, store, codes, batches, 1) })
		if before > 0 { // the first commit logs the dictionaries of all
			run.insert += spent
		}
		if err == nil && n/maintainEvery > before/maintainEvery {
			run.maintain += measure.OnThread(func() { err = store.Maintain(ctx) })
		}
		if err != nil {
			return run, nil, err
		}
	}
	return run, store, nil
}

// durableOnce inserts into a directory, opens a copy of it as a kill would leave it, closes it, and
// opens it again.
func durableOnce(f *fleet.Fleet, m fleet.Shape) (run durableRun, err error) {
	root, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return run, err
	}
	defer os.RemoveAll(root)
	dir, killed := filepath.Join(root, "store"), filepath.Join(root, "killed")
	// The log is not replaced by files before the store is closed.
	run, store, err := durableInsert(f, m, columnstore.Options{Dir: dir, LogBytes: 1 << 40})
	if err != nil {
		return run, err
	}
	if _, err := store.CreateTable("synced", profile.Schema(0)); err != nil { // makes all before durable
		return run, err
	}
	run.logBytes = store.Stats().LogBytes
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		return run, err
	}
	run.closing = measure.OnThread(func() { err = store.Close() })
	if err != nil {
		return run, err
	}
	if run.fileBytes, err = filesIn(dir); err != nil {
		return run, err
	}
	if run.replay, run.killedWall, err = openAgain(killed, int64(m.Rows)); err != nil {
		return run, err
	}
	run.opening, run.closedWall, err = openAgain(dir, int64(m.Rows))
	return run, err
}

// openAgain opens a directory that has so many rows, and closes it.
func openAgain(dir string, rows int64) (cpu, wall time.Duration, err error) {
	var store *columnstore.Store
	before := time.Now()
	cpu = measure.OnThread(func() {
		store, err = columnstore.Open(columnstore.Options{Dir: dir, Manual: true, Sync: disk.SyncNever})
	})
	wall = time.Since(before)
	if err != nil {
		return 0, 0, err
	}
	if got := store.Stats().Rows; got != rows {
		return 0, 0, fmt.Errorf("%d of %d rows came back", got, rows)
	}
	return cpu, wall, store.Close()
}

// filesIn returns the bytes of the files of a directory but for the log.
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
