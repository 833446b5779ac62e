package columnstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
)

// TestDeleteRows deletes random rows from random tables, in memory, in directories and cold, and asks them as TestQueries does. Snapshots from before have all rows, and a restart has no more than the store had.
func TestDeleteRows(t *testing.T) {
	effort.Long(t)
	effort.Alone(t)
	collectRarely(t)
	deleted, cold, restarts := int64(0), 0, 0
	for seed := range uint64(effort.Part(400, 8+17*boolInt(effort.Race))) {
		a := newQueryAsker(t, seed)
		if !a.opts.Manual {
			continue
		}
		for range 5 {
			a.insertSome(a.total / 3)
			if a.rng.IntN(2) == 0 {
				a.compact()
			}
			if a.rng.IntN(2) == 0 && a.cool() {
				cold++
			}
			deleted += a.deleteSome()
			a.ask(a.view("deleted"), 10)
			if a.store.log != nil && a.rng.IntN(2) == 0 {
				restarts++
				a.restart()
				a.ask(a.view("open again"), 5)
			}
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d rows, %d times beside cold ones, %d restarts", deleted, cold, restarts)
	if deleted < 1000 || cold == 0 || restarts == 0 {
		t.Error("some were too few")
	}
}

// deleteSome deletes the rows of a random condition, in the store and the oracle.
func (a *queryAsker) deleteSome() int64 {
	a.Helper()
	v := a.view("before")
	defer v.snap.Close()
	was := allRows(a.T, a.table, v.snap, ScanOptions{})
	where, chosen := a.randomWhere(v)
	n, err := a.table.DeleteRows(a.Context(), a.expr(where))
	if err != nil || n != int64(len(chosen)) {
		a.Errorf("%d rows are deleted of %d, %v: %s\n%v", n, len(chosen), err, where.Text(a.columnName), a.querySet)
	}
	if still := allRows(a.T, a.table, v.snap, ScanOptions{}); !slices.Equal(still, was) {
		a.Errorf("a snapshot had %d rows and has %d", len(was), len(still))
	}
	gone := map[*any]bool{}
	for _, row := range chosen {
		gone[&row[0]] = true
	}
	a.rows = slices.DeleteFunc(slices.Clone(a.rows), func(row oracle.Cells) bool { return gone[&row[0]] })
	if rows := a.store.Stats().Rows; rows != int64(len(a.rows)) {
		a.Errorf("Stats has %d rows, want %d", rows, len(a.rows))
	}
	return n
}

// restart opens the store again.
func (a *queryAsker) restart() {
	a.Helper()
	if err := a.store.Close(); err != nil {
		a.Fatal(err)
	}
	opts := a.store.opts
	opts.Yield = nil
	a.store, a.table = reopen(a.T, opts)
	a.writer.table = a.table
}

// TestDeleteRows_Crash lets the disk fail at each call while rows are deleted, and loses power: a store that opens
// afterwards has each time bucket with the rows or without, and without them once the call has returned.
func TestDeleteRows_Crash(t *testing.T) {
	effort.Long(t)
	for calls, done := 0, 0; done < 2; calls++ {
		fs := crashfs.New(crashfs.Options{Seed: uint64(calls)})
		opts := inDir(fs)
		store, table := open(t, opts, samples(10))
		for at := range int64(40) {
			insert(t, table, pods([]string{"a", "b"}[at%2], at))
		}
		if calls%2 == 0 {
			coolAll(t, store)
		} else if err := store.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		fault := &crashfs.Fault{Err: syscall.EIO, After: calls / 2}
		fs.Fail(fault)
		n, err := table.DeleteRows(t.Context(), Equal("labels.pod", "a"))
		fs.Heal()
		if fault.Fired == 0 {
			done++
		}
		if err == nil && n != 20 {
			t.Errorf("%d rows are deleted", n)
		}
		after := fs.Crash()
		_ = store.Close()
		opts.FS = after
		store, table = reopen(t, opts)
		snap := snapshot(t, store)
		rows := map[string]int{}
		for row := range scanRows(t, table, snap, ScanOptions{}) {
			rows[fmt.Sprint(row["time"].(int64)/10, row["labels.pod"])]++
		}
		snap.Close()
		for bucket := range 4 {
			a, b := rows[fmt.Sprint(bucket, "a")], rows[fmt.Sprint(bucket, "b")]
			if b != 5 || a != 5 && a != 0 || err == nil && a != 0 {
				t.Errorf("a fault at call %d, cold %v: bucket %d has %d and %d rows; the deletion returned %v", calls/2, calls%2 == 0, bucket, a, b, err)
			}
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDeleteRows_Beside deletes while others insert, maintenance runs and files are written: the rows from before are
// gone, and no other row is.
func TestDeleteRows_Beside(t *testing.T) {
	effort.Long(t)
	for _, name := range []string{"memory", "directory"} {
		t.Run(name, func(t *testing.T) {
			opts := Options{GranuleRows: 100, FutureLimit: -1, PastLimit: -1, BucketRows: 500}
			if name == "directory" {
				opts.FS, opts.LogBytes = crashfs.New(crashfs.Options{}), 64<<10
			}
			var table *Table
			var amid int64
			var stop atomic.Bool
			opts.Yield = func(point string) { // between the look at the rows and the commit, which is a short time
				if point != "delete/prepared" || stop.Load() {
					return
				}
				amid++
				for _, pod := range []string{"1+", "1."} { // beside the rows that go
					if _, err := table.Insert(t.Context(), pods(pod, amid)); err != nil {
						t.Error(err)
					}
				}
			}
			store, made := open(t, opts, samples(1000))
			table = made
			const writers = 3
			some := Match("labels.pod", regexp.MustCompile("^1-"))
			var group sync.WaitGroup
			var inserted [writers]map[string]int64 // by pod, rows
			for w := range writers {
				inserted[w] = map[string]int64{}
				group.Go(func() {
					for at := int64(0); !stop.Load(); at++ {
						pod := fmt.Sprintf("%d-%d", at%2, w)
						if _, err := table.Insert(t.Context(), pods(pod, at, at, at)); err != nil {
							t.Error(err)
							return
						}
						inserted[w][pod] += 3
					}
				})
			}
			var deleted int64
			for range 20 {
				time.Sleep(5 * time.Millisecond)
				n, err := table.DeleteRows(t.Context(), some)
				if err != nil {
					t.Fatal(err)
				}
				deleted += n
			}
			stop.Store(true)
			group.Wait()
			n, err := table.DeleteRows(t.Context(), some)
			if err != nil {
				t.Fatal(err)
			}
			deleted += n
			left, want, gone := map[string]int64{}, map[string]int64{"1+": amid, "1.": amid}, int64(0)
			snap := snapshot(t, store)
			defer snap.Close()
			for row := range scanRows(t, table, snap, ScanOptions{}) {
				left[row["labels.pod"].(string)]++
			}
			for w := range writers {
				for pod, rows := range inserted[w] {
					if pod[0] == '0' {
						want[pod] = rows
					} else {
						gone += rows
					}
				}
			}
			if fmt.Sprint(left) != fmt.Sprint(want) || deleted != gone {
				t.Errorf("left are %v, want %v; %d are deleted, want %d", left, want, deleted, gone)
			}
			series, err := table.SeriesValues(t.Context(), snap, "labels.pod", Expr{})
			if err != nil || len(series) != writers+2 {
				t.Errorf("the pods are %q, %v", series, err)
			}
		})
	}
}

// TestDeleteRows_Prepared commits a row that was prepared before the deletion took all rows of its series.
func TestDeleteRows_Prepared(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, PastLimit: -1, Manual: true}, samples(10))
	insert(t, table, pods("a", 1))
	insert(t, table, pods("b", 2))
	tx := store.Begin()
	if err := tx.Insert(t.Context(), table, pods("a", 3)); err != nil {
		t.Fatal(err)
	}
	if n, err := table.DeleteRows(t.Context(), Equal("labels.pod", "a")); n != 1 || err != nil {
		t.Errorf("%d rows are deleted, %v", n, err)
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	snap := snapshot(t, store)
	defer snap.Close()
	values, err := table.SeriesValues(t.Context(), snap, "labels.pod", Expr{})
	if err != nil || !slices.Equal(values, []string{"a", "b"}) || !slices.Equal(rowTimes(t, table, snap), []int64{3, 2}) {
		t.Errorf("the pods are %q at %v, %v", values, rowTimes(t, table, snap), err)
	}
}

// TestDeleteRows_Units deletes rows of units: they keep their ids, and the rows of their times that come later go to another
// bucket.
func TestDeleteRows_Units(t *testing.T) {
	opts := inDir(crashfs.New(crashfs.Options{}))
	store, table := open(t, opts, samples(10))
	insertPods := func() {
		for at := range int64(30) {
			insert(t, table, pods([]string{"a", "b"}[at%2], at))
		}
	}
	insertPods()
	seal(t, table, 20)
	insertPods()
	coolAll(t, store)
	insert(t, table, pods("a", 3))
	for _, restarted := range []bool{false, true} {
		if restarted {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store, table = reopen(t, opts)
		} else if n, err := table.DeleteRows(t.Context(), And(Equal("labels.pod", "a"), Less("time", int64(15)))); err != nil || n != 17 {
			t.Errorf("%d rows are deleted, %v", n, err)
		}
		snap := snapshot(t, store)
		units, _, err := table.Units(snap)
		rows := map[uint64]int64{}
		for _, u := range units {
			rows[u.ID] += u.Rows
		}
		if err != nil || rows[1] != 5 || rows[2] != 7 || rows[0] != 5+7+20 {
			t.Errorf("restarted %v: the units have %v rows, %v", restarted, rows, err)
		}
		snap.Close()
	}
	if units := seal(t, table, 20); len(units) != 2 || units[0].ID != 3 {
		t.Errorf("the next units are %v", units)
	}
}

func TestDeleteRows_Errors(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, PastLimit: -1}, samples(10))
	insert(t, table, at(5))
	if n, err := table.DeleteRows(t.Context(), Equal("no column", "a")); !errors.Is(err, ErrQuery) || n != 0 {
		t.Errorf("no such column: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := table.DeleteRows(canceled, Expr{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if got := rowTimesNow(t, store, table); !slices.Equal(got, []int64{5}) {
		t.Errorf("rows at %v", got)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := table.DeleteRows(t.Context(), Expr{}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
