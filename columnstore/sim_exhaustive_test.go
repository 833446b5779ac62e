package columnstore

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// scope is a few short tasks whose interleavings are all tried.
type scope struct {
	name   string
	bucket int64
	tables int
	rows   []int // committed before the tasks start: times of single rows
	room   int64 // if above 0: bytes of a memory budget left after them
	tasks  []func(h *simRun)
}

// TestEveryInterleaving runs small scopes completely (C1 to C6). It finds bugs that random
// schedules find once in a million.
func TestEveryInterleaving(t *testing.T) {
	effort.Slow(t)
	collectRarely(t)
	for i, s := range []scope{
		{"two writers and a reader", 0, 1, nil, 0, tasks(commits(0, 1), commits(0, 2), reads(2))},
		{"a writer, a reader and a compaction", 0, 1, times(1, 2), 0, tasks(commits(0, 3), reads(2), compacts)},
		{"a writer, a reader and a split", 0, 1, times(1, 2, 3), 0, tasks(commits(0, 1, 4), reads(2), compacts)},
		{"two writers and a split", 0, 1, times(1, 2, 3), 0, tasks(commits(0, 1, 4), commits(0, 2, 5), compacts)},
		{"two splits of one granule", 0, 1, times(1, 2, 3), 0, tasks(compacts, compacts, reads(1))},
		{"a split, a compaction and a writer", 0, 1, times(1, 2, 3), 0, tasks(compacts, compacts, commits(0, 0, 9))},
		{"a writer of two tables and a reader of both", 0, 2, nil, 0, tasks(commitsBoth(1), readsBoth, commits(0, 2))},
		{"a writer of two tables and a split", 0, 2, times(1, 2, 3), 0, tasks(commitsBoth(2), readsBoth, compacts)},
		{"an abort, a writer and a reader", 0, 1, times(1), 0, tasks(aborts(2), commits(0, 3), reads(2))},
		{"an abort and a split", 0, 1, times(1, 2, 3), 0, tasks(aborts(2), compacts, reads(2))},
		{"a close, a writer and a reader", 0, 1, times(1), 0, tasks(closes, commits(0, 2), reads(2))},
		{"a close and a split", 0, 1, times(1, 2, 3), 0, tasks(closes, compacts, reads(2))},
		{"writers of new buckets and a reader", 10, 1, nil, 0, tasks(commits(0, 5, 15), commits(0, 5), reads(2))},
		{"a reader and a writer whose rows evict", 10, 1, times(1, 2, 15, 25, 35), 3000, tasks(reads(2), commits(0, 45), commits(0, 55))},
		{"a late row and a writer whose rows evict", 10, 1, times(1, 2, 15, 25, 35), 3000, tasks(commits(0, 3), commits(0, 45), reads(1))},
		{"a rewrite of what is evicted", 10, 1, times(1, 2, 3, 15, 25, 35), 6000, tasks(compacts, commits(0, 45), reads(1))},
		{"a snapshot that expires", 10, 1, times(1, 15, 25, 35), 1, tasks(reads(2), commits(0, 45), commits(0, 55))},
		{"a late row, a reader and a split of its bucket", 10, 1, times(1, 2, 3, 15), 0, tasks(commits(0, 0), reads(2), compacts)},
		{"a seal, a late row and a reader", 10, 1, times(1, 2, 15), 0, tasks(seals(20), commits(0, 3, 16), readsUnits)},
		{"a seal, two late rows and a compaction", 10, 1, times(1, 2, 3), 0, tasks(seals(10), commits(0, 0, 4), commits(0, 5), compacts)},
		{"two seals and late rows", 10, 1, times(1), 0, tasks(seals(10), seals(10), commits(0, 4), commits(0, 5))},
		{"a seal, a drop and late rows", 10, 1, times(1, 2), 0, tasks(seals(10), dropsUnits, commits(0, 5), commits(0, 6))},
	} {
		t.Run(s.name, func(t *testing.T) {
			if effort.Race && i%4 > 0 {
				t.Skip("one goroutine runs at a time")
			}
			if !effort.Full && i%2 == 0 {
				t.Skip("GRANARY_FULL is not set") // the simulations of .ci/run set it
			}
			events := map[string]int{}
			runs, err := s.explore(func(h *simRun) {
				for name, n := range h.events {
					events[name] += n
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d interleavings: %d evictions, %d snapshots expired", runs, events["eviction"], events["snapshot expired"]+events["read cut off by expiry"])
			if s.room > 0 && events["eviction"] == 0 {
				t.Error("nothing was evicted")
			}
		})
	}
}

// decisive are the yield points between two reads or writes of state shared by tasks. Others
// only repeat an interleaving.
var decisive = []string{"commit/start", "units/prepared", "read/granule", "maintain/merged"}

// mostRuns bounds the schedules of a scope. A scope that needs more is not small.
const mostRuns = 100_000

// explore runs every schedule, in the order of a depth-first search: it repeats the previous run's
// choices up to the last choice that has an alternative. Each run is checked against the oracle, and by
// checks.
func (s scope) explore(checks ...func(h *simRun)) (runs int, err error) {
	var choices, options []int
	for {
		step := 0
		h := newHistory(0)
		h.opts.GranuleRows, h.opts.FreshParts, h.opts.MaxParts, h.opts.Retention, h.bucket = 2, 2, 2, 0, s.bucket
		h.opts.GranuleBytes, h.opts.GenerationBuckets, h.opts.MemoryBudget = 0, 1, 0
		h.only = decisive
		h.units = newSimUnits(1, s.bucket, 2)
		h.pick = func(n int) int {
			if step == len(choices) {
				choices, options = append(choices, 0), append(options, n)
			}
			step++
			return choices[step-1]
		}
		if runs++; runs > mostRuns {
			return runs, fmt.Errorf("more than %d interleavings", mostRuns)
		}
		err := s.run(h)
		for _, check := range checks {
			if check(h); err == nil {
				err = h.failure
			}
		}
		if err != nil {
			return runs, fmt.Errorf("%w\nschedule:\n%s", err, h.traced())
		}
		last := len(choices) - 1
		for last >= 0 && choices[last]+1 == options[last] {
			last--
		}
		if last < 0 {
			return runs, nil
		}
		choices, options = choices[:last+1], options[:last+1]
		choices[last]++
	}
}

func (s scope) run(h *simRun) error {
	if err := h.open(s.tables); err != nil {
		return err
	}
	defer h.store.Close()
	for _, at := range s.rows {
		commits(0, at)(h)
	}
	if s.room > 0 {
		h.store.memory.budget.Store((h.store.memory.used() + s.room) / 15 * 16)
		h.opts.MemoryBudget = h.store.memory.budget.Load()
	}
	for i, task := range s.tasks {
		h.start(fmt.Sprint("task ", i), func() { task(h) })
	}
	return h.schedule()
}

func tasks(list ...func(*simRun)) []func(*simRun) { return list }

func times(list ...int) []int { return list }

// rowsAt makes a batch of rows at the given times.
func (h *simRun) rowsAt(at ...int) (schema.Batch, []string) {
	b := schema.Batch{Rows: len(at), Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("k"), "stack": encoding.UUIDLists([]uuid.UUID{{1}}),
	}}
	var ats, values []int64
	var rows []string
	for _, t := range at {
		h.nextRow++
		ats, values = append(ats, int64(t)), append(values, h.nextRow)
		rows = append(rows, simRow("k", "", "", "", int64(t), []uuid.UUID{{1}}, h.nextRow))
	}
	b.Columns["time"], b.Columns["value"] = encoding.Int64s(ats...), encoding.Int64s(values...)
	return b, rows
}

// commits is a task that commits one transaction.
func commits(table int, at ...int) func(*simRun) {
	return func(h *simRun) { h.transaction(at, true, table) }
}

func commitsBoth(at ...int) func(*simRun) {
	return func(h *simRun) { h.transaction(at, true, 0, 1) }
}

func aborts(at ...int) func(*simRun) {
	return func(h *simRun) { h.transaction(at, false, 0) }
}

func (h *simRun) transaction(at []int, commit bool, tables ...int) {
	tx := h.store.Begin()
	rows := make([][]string, len(h.tables))
	for _, table := range tables {
		b, added := h.rowsAt(at...)
		h.offered[table] = max(h.offered[table], int64(slices.Max(at)))
		if err := tx.Insert(context.Background(), h.tables[table], b); err != nil {
			h.expectRefused(err)
			tx.Abort()
			return
		}
		rows[table] = added
	}
	if !commit {
		tx.Abort()
		return
	}
	id, err := tx.Commit()
	if err != nil {
		h.expectRefused(err)
		return
	}
	h.commits.Add(uint64(id), simCommit{rows: rows})
}

// reads holds a snapshot and reads it several times.
func reads(times int) func(*simRun) {
	return func(h *simRun) { h.readTables(times, 0) }
}

func readsBoth(h *simRun) { h.readTables(1, 0, 1) }

func (h *simRun) readTables(times int, tables ...int) {
	h.snapshot(func(snap *Snapshot) {
		for range times {
			for _, table := range tables {
				h.aggregate(snap, table)
			}
		}
	})
}

// aggregate reads a table for the oracle.
func (h *simRun) aggregate(snap *Snapshot, table int) {
	h.reading++
	defer func() { h.reading-- }()
	r, err := snap.peek(h.tables[table])
	if h.expired(err, "snapshot expired") {
		return
	}
	rows, err := aggregateSim(h.tables[table], snap)
	if h.expired(err, "read cut off by expiry") {
		return
	}
	if err != nil {
		h.fail("read at commit %d: %v", snap.Commit(), err)
		return
	}
	slices.Sort(rows)
	h.views = append(h.views, simView{uint64(snap.Commit()), table, r.State.Floor, rows, "aggregate"})
}

// compacts rewrites every granule with fresh parts once: with granules of two rows a
// compaction, or a split.
func compacts(h *simRun) {
	if err := h.store.Compact(context.Background()); err != nil {
		h.expectRefused(err)
	}
}

// expectRefused accepts the errors of a store that is closed or full.
func (h *simRun) expectRefused(err error) {
	if !h.refused(err) {
		h.expectClosed(err)
	}
}

func closes(h *simRun) { h.store.Close() }
