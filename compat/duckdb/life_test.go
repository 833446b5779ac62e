//go:build cgo

package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v14/arrow/memory"
	driver "github.com/duckdb/duckdb-go/v2"

	"github.com/granarydb/granary/columnstore"
)

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// endless is SQL that outlasts any test.
const endless = "SELECT count(*) FROM e a, e b, e c WHERE a.value + b.value + c.value = -100"

// TestErrors: each error of Query, after which the DB still answers.
func TestErrors(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", manyRows)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	closed, other := snapshotOf(t, store), snapshotOf(t, openStore(t))
	closed.Close()
	tables := []Table{{Table: e.Table}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		snap  *columnstore.Snapshot
		query string
		want  error
	}{
		{t.Context(), snap, "", ErrSQL},
		{t.Context(), snap, "SELEC", ErrSQL},
		{t.Context(), snap, "SELECT 1\x00", ErrSQL},
		{t.Context(), snap, "SELECT nothing FROM e", ErrSQL},
		{t.Context(), snap, "SELECT * FROM nothing", ErrSQL},
		{t.Context(), snap, "SELECT text::INTEGER FROM e", ErrSQL},
		{t.Context(), snap, "FROM granary_scan(NULL)", ErrSQL},
		{t.Context(), snap, "FROM granary_scan('nothing')", ErrSQL},
		{t.Context(), snap, "SELECT error('stop') FROM e", ErrSQL},
		{t.Context(), closed, "SELECT count(*) FROM e", columnstore.ErrSnapshotClosed},
		{t.Context(), other, "SELECT count(*) FROM e", columnstore.ErrTable},
		{ended, snap, "SELECT count(*) FROM e", context.Canceled},
	} {
		_, err := answer(c.ctx, db, c.snap, tables, c.query)
		if !errors.Is(err, c.want) {
			t.Errorf("%q: error %v, want %v", c.query, err, c.want)
		}
	}
	var told *driver.Error
	if _, err := answer(t.Context(), db, snap, tables, "SELECT nothing FROM e"); !errors.As(err, &told) || told.Type != driver.ErrorTypeBinder {
		t.Errorf("error %v, want that of DuckDB's binder", err)
	}
	wantLines(t, db, snap, tables, "SELECT count(*) FROM e", fmt.Sprintln(manyRows))
}

// TestSnapshotClosedMeanwhile: a snapshot is closed between the scans of one query.
func TestSnapshotClosedMeanwhile(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", 10)
	db := openDB(t, Options{})
	snap := snapshotOf(t, store)
	closing := columnstore.Func("n", func(any) bool { snap.Close(); return true })
	got, err := answer(t.Context(), db, snap, []Table{{Table: e.Table, Where: closing}}, "SELECT count(*) FROM e")
	if err != nil || lines(got) != "10\n" { // a running scan goes on
		t.Errorf("%v, error %v", got, err)
	}
}

// TestCancel: a query ends with its context, wherever it is.
func TestCancel(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", manyRows)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	tables := []Table{{Table: e.Table}}
	for _, after := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		start := time.Now()
		_, err := answer(ctx, db, snap, tables, endless)
		cancel()
		wantError(t, err, context.DeadlineExceeded)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("a query of %v took %v", after, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context()) // while rows are open
	rows, err := db.Query(ctx, snap, tables, "SELECT n FROM e")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	// database/sql ends the rows in a goroutine of its own. Rows read before that are in order.
	for deadline := time.Now().Add(20 * time.Second); rows.Err() == nil && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if rows.Next() {
		t.Error("a row after the end of its context")
	}
	wantError(t, rows.Err(), context.Canceled)
	wantError(t, errors.Join(rows.Close(), rows.Close()), nil)
}

// TestMemoryLimit: a query beyond the limit fails, and others go on.
func TestMemoryLimit(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", manyRows)
	db, snap := openDB(t, Options{MemoryLimit: 8 << 20, Threads: 1}), snapshotOf(t, store)
	tables := []Table{{Table: e.Table}}
	_, err := answer(t.Context(), db, snap, tables, "SELECT text, list(n) FROM e GROUP BY text ORDER BY text DESC")
	wantError(t, err, columnstore.ErrQueryMemory)
	wantLines(t, db, snap, tables, "SELECT count(*) FROM e", fmt.Sprintln(manyRows))
	for _, bad := range []Options{{MemoryLimit: 1}, {MemoryLimit: -1}, {Threads: -1}} {
		_, err := Open(bad)
		wantError(t, err, ErrOptions)
	}
}

// TestRecordsReleased: D4, however a query ends.
func TestRecordsReleased(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", manyRows)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	db, snap := openDB(t, Options{Memory: mem}), snapshotOf(t, store)
	for _, query := range []string{
		"SELECT * FROM e", "SELECT n FROM e LIMIT 1", "SELECT count(*) FROM e x JOIN e y USING (text)", "SELECT text::INTEGER FROM e",
		"SELECT count(*) FROM e WHERE n < 5", "SELECT error('stop') FROM e", "EXPLAIN SELECT * FROM e", "EXPLAIN ANALYZE SELECT * FROM e", endless,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		answer(ctx, db, snap, []Table{{Table: e.Table}}, query)
		cancel()
		mem.AssertSize(t, 0) // when Query returns, not some time later
	}
}

// TestClose: rows outlive the DB; new queries do not.
func TestClose(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", manyRows)
	snap := snapshotOf(t, store)
	db, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(t.Context(), snap, []Table{{Table: e.Table}}, "SELECT n FROM e ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	snap.Close()
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Error(err)
	}
	_, err = db.Query(t.Context(), snap, nil, "SELECT 1")
	wantError(t, err, ErrClosed)
	var n, want int64
	for ; rows.Next(); want++ {
		if err := rows.Scan(&n); err != nil || n != want {
			t.Fatalf("row %d: %d, error %v", want, n, err)
		}
	}
	if want != manyRows {
		t.Errorf("%d rows, error %v", want, rows.Err())
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

// TestNothingStays: D3.
func TestNothingStays(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", 10)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	tables := []Table{{Table: e.Table}}
	wantLines(t, db, snap, tables, "CREATE TABLE mine AS FROM e; CREATE TEMP VIEW v AS FROM mine; SELECT count(*) FROM v", "10\n")
	wantLines(t, db, snap, tables, "DROP VIEW e; CREATE TEMP TABLE e AS SELECT 7 AS n; FROM e", "7\n")
	wantLines(t, db, snap, tables, "SELECT count(*) FROM e", "10\n")
	wantLines(t, db, snap, nil, "SHOW ALL TABLES", "")
}

// TestFiles: without Options.Files, SQL reaches nothing outside, and cannot lift the
// restriction.
func TestFiles(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", 10)
	snap, tables := snapshotOf(t, store), []Table{{Table: e.Table}}
	dir := t.TempDir()
	name := filepath.Join(dir, "e.parquet")
	db := openDB(t, Options{})
	for _, query := range []string{
		"COPY e TO '" + name + "'", "SELECT * FROM read_csv('/etc/hostname')", "FROM '" + name + "'", "ATTACH '" + name + "' AS x",
		"INSTALL httpfs", "LOAD httpfs", "SET enable_external_access = true", "SET lock_configuration = false", "SET temp_directory = '" + dir + "'",
		"RESET enable_external_access", "PRAGMA enable_external_access = true", "SELECT * FROM glob('/*')", "SELECT * FROM read_text('/etc/hostname')",
		"EXPORT DATABASE '" + dir + "'", "CREATE SECRET (TYPE s3)",
	} {
		if got, err := answer(t.Context(), db, snap, tables, query); !errors.Is(err, ErrSQL) {
			t.Errorf("%s: %v, error %v", query, got, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, error %v", left, err)
	}
	open := openDB(t, Options{Files: true})
	wantLines(t, open, snap, tables, "COPY e TO '"+name+"'", "10\n")
	wantLines(t, open, snap, tables, "SELECT count(*) FROM '"+name+"' JOIN e USING (n, stack, note)", fmt.Sprintln(withNote(e)))
}

func withNote(e *everything) int64 {
	n, _ := e.count(func(r row) bool { return r.note != nil })
	return n
}

// TestConcurrentQueries: D1 beside inserts; each query sees its own snapshot.
func TestConcurrentQueries(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", 10_000)
	db := openDB(t, Options{})
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 30 {
			if _, err := e.Insert(t.Context(), batchOf(e.rows[i*10:i*10+10])); err != nil {
				t.Error(err)
			}
		}
	})
	for range 8 {
		all.Go(func() {
			for range 10 {
				err := store.View(t.Context(), func(snap *columnstore.Snapshot) error {
					groups, err := e.Aggregate(t.Context(), snap, columnstore.AggregateOptions{Sum: "value"})
					if err != nil {
						return err
					}
					got, err := answer(t.Context(), db, snap, []Table{{Table: e.Table}},
						"SELECT count(*), sum(value), (SELECT count(*) FROM e) FROM e WHERE len(stack) >= 0")
					if want := fmt.Sprintln(groups.Counts[0], groups.Sums[0], groups.Counts[0]); lines(got) != want {
						return fmt.Errorf("got %s, want %s: %w", lines(got), want, err)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestDriver: the one unexported field of the driver is still there.
func TestDriver(t *testing.T) {
	for _, bad := range []any{nil, 1, new(int), struct{}{}, &struct{ conn int }{}} {
		if _, err := connectionOf(bad); err == nil || !strings.Contains(err.Error(), "driver") {
			t.Errorf("%T: error %v", bad, err)
		}
	}
}
