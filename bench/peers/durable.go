package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/polarsignals/frostdb"
	schemapb "github.com/polarsignals/frostdb/gen/proto/go/frostdb/schema/v1alpha1"
	"github.com/thanos-io/objstore/providers/filesystem"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// durableWorkload is the workload for stores in directories.
const durableWorkload = "durable"

// durableKeys explains the figures in the workload durable.
var durableKeys = map[string]string{
	"all_in_ns_per_row":         "CPU time of the process to insert and maintain without a directory",
	"all_in_logged_ns_per_row":  "the same with a log",
	"log_bytes_per_row":         "bytes of the log with all rows",
	"open_log_ns_per_row":       "CPU time of the process to open a directory with all rows in the log",
	"open_log_wall_ms":          "the same, wall time; on a busy machine it says more about the machine",
	"file_bytes_per_row":        "bytes of the files that replace the log: those of granary, and Parquet of FrostDB",
	"write_files_ns_per_row":    "CPU time of the process to write these files, of FrostDB with its inserts",
	"open_files_ns_per_row":     "CPU time to open a directory of files, reading the rows; FrostDB reads Parquet when it is asked",
	"written_bytes_per_row":     "bytes that were written to files from the first insert until the files replace the log, of FrostDB of both runs; by file_bytes_per_row it is how often a byte is written",
	"insert_logged_us_per_call": "wall time of an insert of a profile with a log, mean",
}

// durableRun measures a store in directories below one. load inserts the rows.
type durableRun func(dir string, load func(Store) (cpu, wall time.Duration, err error)) (durableTimes, error)

// durableTimes are one run's figures.
type durableTimes struct {
	logged, loggedWall       time.Duration // time of inserts with a log
	log, files, written      int64         // bytes
	replay, replayWall       time.Duration
	writeFiles, openFromFile time.Duration // 0 if unknown
}

// measureDurable fills a store without a directory and with one.
func measureDurable(name string, rows int64) (m result, err error) {
	kind := kinds[name]
	m = result{Figures: map[string]float64{}, Answers: map[string]string{}, Module: moduleVersion(kind.module)}
	if kind.durable == nil {
		return m, fmt.Errorf("%s has no directory", name)
	}
	w, err := openSource("fleet")
	if err != nil {
		return m, err
	}
	profiles, loaded := 0, int64(0)
	wanted := rows
	load := func(p Store) (cpu, wall time.Duration, err error) {
		l := loader{peer: p}
		_, err = l.load(w, wanted)
		profiles, loaded = len(l.latencies), l.rows
		for _, latency := range l.latencies {
			wall += latency
		}
		return l.allIn, wall, err
	}
	var memory time.Duration
	for _, wanted = range []int64{rows/20 + 1, rows} { // the first warms up
		plain, err := kind.open()
		if err != nil {
			return m, err
		}
		memory, _, err = load(plain)
		if err = errors.Join(err, plain.Close()); err != nil {
			return m, err
		}
	}
	dir, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	d, err := kind.durable(dir, load)
	if err != nil {
		return m, err
	}
	n := float64(loaded)
	for key, value := range map[string]float64{
		"all_in_ns_per_row": float64(memory) / n, "all_in_logged_ns_per_row": float64(d.logged) / n,
		"insert_logged_us_per_call": float64(d.loggedWall) / float64(profiles) / 1e3,
		"log_bytes_per_row":         float64(d.log) / n, "file_bytes_per_row": float64(d.files) / n,
		"written_bytes_per_row": float64(d.written) / n,
		"open_log_ns_per_row":   float64(d.replay) / n, "open_log_wall_ms": float64(d.replayWall) / 1e6,
		"write_files_ns_per_row": float64(d.writeFiles) / n, "open_files_ns_per_row": float64(d.openFromFile) / n,
	} {
		if value > 0 {
			m.Figures[key] = value
		}
	}
	return m, nil
}

// openRows opens a store, which must have all the rows that were loaded.
func openRows(open func() (Store, error), rows int64) (cpu, wall time.Duration, err error) {
	start, begun := measure.CPU(), time.Now()
	p, err := open()
	if err != nil {
		return 0, 0, err
	}
	if err = p.Rest(); err == nil {
		cpu, wall = measure.CPU()-start, time.Since(begun)
		var found int64
		if found, err = countRows(p); err == nil && found != rows {
			err = fmt.Errorf("%d of %d rows came back", found, rows)
		}
	}
	return cpu, wall, errors.Join(err, p.Close())
}

// countRows returns a store's number of rows.
func countRows(p Store) (rows int64, err error) {
	err = p.Totals(profile.ColumnSampleType, func(_ string, n, _ int64) { rows += n })
	return rows, err
}

// durableGranary measures this store. Its log has all rows until it is closed.
func durableGranary(dir string, load func(Store) (cpu, wall time.Duration, err error)) (d durableTimes, err error) {
	opts := columnstore.Options{Dir: filepath.Join(dir, "store"), LogBytes: 1 << 40, Manual: true, FutureLimit: -1}
	killed := opts
	killed.Dir = filepath.Join(dir, "killed")
	g, err := OpenGranary(opts)
	if err != nil {
		return d, err
	}
	written := measure.Written()
	if d.logged, d.loggedWall, err = load(g); err != nil {
		return d, errors.Join(err, g.Close())
	}
	d.written = measure.Written() - written
	rows, err := countRows(g)
	if err == nil { // a new table makes all earlier commits durable
		_, err = g.Store.CreateTable("synced", profile.Schema(0))
	}
	if err == nil {
		err = os.CopyFS(killed.Dir, os.DirFS(opts.Dir))
	}
	d.log = g.Store.Stats().LogBytes
	before, written := measure.CPU(), measure.Written()
	if err = errors.Join(err, g.Store.Close()); err != nil {
		return d, err
	}
	d.writeFiles = measure.CPU() - before
	d.written += measure.Written() - written
	again := func(opts columnstore.Options) func() (Store, error) {
		return func() (Store, error) {
			store, err := columnstore.Open(opts)
			if err != nil {
				return nil, err
			}
			d.files = store.Stats().FileBytes
			return &Granary{Store: store, Table: store.Table("profiles")}, nil
		}
	}
	if d.replay, d.replayWall, err = openRows(again(killed), rows); err != nil {
		return d, err
	}
	d.openFromFile, _, err = openRows(again(opts), rows)
	return d, err
}

// durableFrost measures FrostDB with a log, whose rows stay in it, and then with storage, where a
// close writes the block as Parquet.
func durableFrost(definition *schemapb.Schema) durableRun {
	return func(dir string, load func(Store) (cpu, wall time.Duration, err error)) (d durableTimes, err error) {
		logged := func() (Store, error) {
			return openFrost(definition, frostdb.WithWAL(), frostdb.WithStoragePath(filepath.Join(dir, "log")))
		}
		p, err := logged()
		if err != nil {
			return d, err
		}
		rows, written := int64(0), measure.Written()
		if d.logged, d.loggedWall, err = load(p); err == nil {
			rows, err = countRows(p)
		}
		if err = errors.Join(err, p.Close()); err != nil { // Close waits for the log
			return d, err
		}
		d.written = measure.Written() - written
		if d.log, err = writtenIn(filepath.Join(dir, "log")); err != nil {
			return d, err
		}
		if d.replay, d.replayWall, err = openRows(logged, rows); err != nil {
			return d, err
		}
		bucket, err := filesystem.NewBucket(filepath.Join(dir, "parquet"))
		if err != nil {
			return d, err
		}
		before, written := measure.CPU(), measure.Written()
		p, err = openFrost(definition, frostdb.WithReadWriteStorage(frostdb.NewDefaultObjstoreBucket(bucket)))
		if err != nil {
			return d, err
		}
		_, _, err = load(p)
		if err = errors.Join(err, p.Close()); err != nil {
			return d, err
		}
		d.writeFiles = measure.CPU() - before
		d.written += measure.Written() - written
		d.files, err = bytesIn(filepath.Join(dir, "parquet"))
		return d, err
	}
}

// writtenIn returns the bytes of the files below a directory up to the zeros at their ends, because FrostDB
// reserves 64 MiB for a segment of its log.
func writtenIn(dir string) (written int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		written += int64(len(bytes.TrimRight(data, "\x00")))
		return err
	})
	return written, err
}

// bytesIn returns the bytes of the files below a directory.
func bytesIn(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
