package columnstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/schema"
)

// simRows makes a batch and the oracle's form of its rows.
func (h *simRun) simRows(writer string) (schema.Batch, []string) {
	n := 1 + h.rng.IntN(8)
	b := schema.Batch{Rows: n, Columns: map[string]encoding.Vector{}}
	kind := string(rune('a' + h.rng.IntN(2)))
	pods, stacks, times := make([]string, n), make([][]uuid.UUID, n), make([]int64, n)
	tags, values := make([]string, n), make([]int64, n)
	rows := make([]string, n)
	for i := range n {
		pods[i] = []string{"", "p1", "p2", "p3"}[h.rng.IntN(4)]
		stacks[i] = []uuid.UUID{{byte(h.rng.IntN(3))}, {byte(h.rng.IntN(3))}}
		times[i] = int64(h.rng.IntN(60))
		if h.timesGoOn() {
			times[i] += h.nextRow
		}
		tags[i] = []string{"", "", "x", "y"}[h.rng.IntN(4)]
		h.nextRow++
		values[i] = h.nextRow
		rows[i] = simRow(kind, pods[i], "", tags[i], times[i], stacks[i], values[i])
	}
	b.Columns["kind"] = encoding.Strings(kind)
	b.Columns["labels.pod"] = encoding.Strings(pods...)
	b.Columns["stack"] = encoding.UUIDLists(stacks...)
	b.Columns["time"] = encoding.Int64s(times...)
	b.Columns["tags.t"] = encoding.Strings(tags...)
	b.Columns["value"] = encoding.Int64s(values...)
	if h.rng.IntN(3) == 0 { // a label of few transactions
		b.Columns["labels."+writer] = encoding.Strings("only")
		for i := range rows {
			rows[i] = simRow(kind, pods[i], "labels."+writer+"=only", tags[i], times[i], stacks[i], values[i])
		}
	}
	return b, rows
}

func simRow(kind, pod, extra, tag string, at int64, stack []uuid.UUID, value int64) string {
	row := make([]byte, 0, 192)
	row = append(append(strconv.AppendInt(row, value, 10), " kind="...), kind...)
	if row = append(row, ' '); pod != "" {
		row = append(append(row, "labels.pod="...), pod...)
	}
	row = append(append(row, ' '), extra...)
	if row = append(row, ' '); tag != "" {
		row = append(append(row, "tags.t="...), tag...)
	}
	row = strconv.AppendInt(append(row, " time="...), at, 10)
	row = append(row, " stack=["...)
	for i, id := range stack {
		if i > 0 {
			row = append(row, ' ')
		}
		row = hex.AppendEncode(row, id[:])
	}
	return string(append(row, ']'))
}

// write is a writer's task: transactions over one or more tables.
func (h *simRun) write() {
	name := fmt.Sprint("w", h.rng.IntN(100))
	for range 2 + h.rng.IntN(6) {
		tx := h.store.Begin()
		rows := make([][]string, len(h.tables))
		written := map[int]bool{}
		for range 1 + h.rng.IntN(3) {
			table := h.rng.IntN(len(h.tables))
			b, added := h.simRows(name)
			h.offered[table] = max(h.offered[table], slices.Max(b.Columns["time"].Int64s))
			err := tx.Insert(context.Background(), h.tables[table], b)
			if h.refused(err) {
				continue
			}
			if err != nil {
				h.expectClosed(err)
				tx.Abort()
				return
			}
			rows[table] = append(rows[table], added...)
			written[table] = true
		}
		var states []simChange
		if h.states != nil && h.rng.IntN(3) == 0 {
			states = h.writeStates(tx)
		}
		if len(tx.pieces) > len(written) {
			h.note("insert over several granules")
		}
		if h.rng.IntN(5) == 0 {
			tx.Abort()
			h.note("abort")
			continue
		}
		h.countRouted(tx)
		h.current.commit = &simCommit{rows: rows, states: states, hasWriter: len(tx.histories) > 0}
		id, err := tx.Commit()
		if h.refused(err) {
			if floor := h.store.roots.Root().State.Tables[0].Floor; h.opts.Retention == 0 && floor > 0 {
				h.note("eviction from under an open transaction")
			}
			continue
		}
		if err != nil {
			h.expectClosed(err)
			return
		}
		h.acknowledged(uint64(id))
		h.note("commit")
		if len(written) > 1 {
			h.note("commit of two tables")
		}
	}
}

// refused accepts the errors that are no failure of the store.
func (h *simRun) refused(err error) bool {
	switch {
	case errors.Is(err, ErrTooOld) && h.bucket > 0 && h.timesGoOn():
		h.note("refused as too old")
	case errors.Is(err, ErrMemory) && (h.opts.MemoryBudget > 0 || h.opts.refuse != nil):
		h.note("refused for memory")
	case errors.Is(err, disk.ErrNotDurable) && h.crashing != nil:
		h.note("not durable")
	case errors.Is(err, disk.ErrDisk) && h.crashing != nil:
		h.note("refused by the disk")
	default:
		return false
	}
	return true
}

// countRouted notes whether a granule for which a part was divided is gone by now.
func (h *simRun) countRouted(tx *Tx) {
	for _, p := range tx.pieces {
		state := h.store.roots.Root().State.Table(p.table.ordinal)
		if b, ok := state.Buckets.Get(p.BucketKey); ok && b.Unit != 0 {
			h.note("row of a bucket that was sealed meanwhile")
		}
		if g, ok := state.Granules.Get(p.Bound); ok {
			if _, hi := g.Bounds(); hi != p.Hi && hi != "" && (p.Hi == "" || hi < p.Hi) {
				h.note("part routed to children of a split")
				return
			}
		}
	}
}

// read is a reader's task: snapshots that are held and read repeatedly.
func (h *simRun) read() {
	for range 1 + h.rng.IntN(4) {
		if !h.snapshot(h.hold) {
			return
		}
	}
}

// snapshot calls f with a new snapshot, which is registered for the checks of memory. It
// returns false if the store is closed.
func (h *simRun) snapshot(f func(snap *Snapshot)) bool {
	snap, err := h.store.Snapshot()
	if err != nil {
		h.expectClosed(err)
		return false
	}
	h.note("snapshot")
	h.snaps[snap] = true
	defer func() {
		snap.Close()
		delete(h.snaps, snap)
	}()
	f(snap)
	return true
}

// hold reads a snapshot several times.
func (h *simRun) hold(snap *Snapshot) {
	for range 1 + h.rng.IntN(3) {
		h.yieldPoint("reader holds a snapshot")
		h.look(snap)
		if h.commits.Last() > uint64(snap.Commit()) {
			h.note("read after other commits")
		}
	}
}

// look reads a table in one of two ways.
func (h *simRun) look(snap *Snapshot) {
	if h.states != nil && h.rng.IntN(3) == 0 {
		h.lookAtStates(snap)
		return
	}
	h.lookAt(snap, h.rng.IntN(len(h.tables)))
}

// lookAt reads a table.
func (h *simRun) lookAt(snap *Snapshot, table int) {
	v := simView{commit: uint64(snap.Commit()), table: table, by: "aggregate"}
	r, err := snap.peek(h.tables[table])
	if h.expired(err, "snapshot expired") {
		return
	}
	if err != nil {
		h.fail("a snapshot at commit %d: %v", v.commit, err)
		return
	}
	v.floor = r.State.Floor
	h.reading++
	defer func() { h.reading-- }()
	if h.rng.IntN(4) == 0 {
		v.by = "scan"
		v.rows, err = scanSim(h.tables[table], snap, ScanOptions{Ordered: h.rng.IntN(2) == 0})
		h.note("read by scan")
	} else {
		v.rows, err = aggregateSim(h.tables[table], snap)
		h.note("read")
	}
	if h.expired(err, "read cut off by expiry") {
		return
	}
	if err != nil {
		h.fail("%s at commit %d: %v", v.by, v.commit, err)
		return
	}
	slices.Sort(v.rows)
	h.views = append(h.views, v)
}

// expired accepts that a snapshot of a store with a budget has expired.
func (h *simRun) expired(err error, event string) bool {
	if h.opts.MemoryBudget == 0 && h.opts.DiskBudget == 0 || !errors.Is(err, ErrSnapshotExpired) {
		return false
	}
	h.note(event)
	return true
}

// aggregateSim reads every row as a group of its own: values are distinct.
func aggregateSim(t *Table, snap *Snapshot) ([]string, error) {
	g, err := t.Aggregate(context.Background(), snap, AggregateOptions{
		Sum: "value", By: []string{"value", "kind", "labels", "tags", "time", "stack"},
	})
	if err != nil {
		return nil, err
	}
	var rows []string
	for i := range g.Sums {
		var labels, pod, tag, extra string
		for _, c := range g.Columns {
			family, _, dynamic := strings.Cut(c.Name, ".")
			if !dynamic || c.Values.Null(i) {
				continue
			}
			labels = c.Name + "=" + c.Values.Strings[i]
			switch {
			case c.Name == "labels.pod":
				pod = c.Values.Strings[i]
			case family == "labels":
				extra = labels
			default:
				tag = c.Values.Strings[i]
			}
		}
		stack := g.Column("stack")
		row := simRow(g.Column("kind").Values.Strings[i], pod, extra, tag, g.Column("time").Values.Int64s[i],
			stack.Lists.UUIDs(nil, stack.Codes[i]), g.Column("value").Values.Int64s[i])
		for range g.Counts[i] { // equal rows are one group
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// scanSim reads the rows as Arrow records.
func scanSim(t *Table, snap *Snapshot, opts ScanOptions) ([]string, error) {
	var rows []string
	for row, err := range decodedRows(t, snap, opts) {
		if err != nil {
			return nil, err
		}
		text := func(name string) string {
			s, _ := row[name].(string)
			return s
		}
		extra := ""
		for name, value := range row {
			if strings.HasPrefix(name, "labels.w") && value != nil {
				extra = fmt.Sprintf("%s=%v", name, value)
			}
		}
		rows = append(rows, simRow(text("kind"), text("labels.pod"), extra, text("tags.t"),
			row["time"].(int64), row["stack"].([]uuid.UUID), row["value"].(int64)))
	}
	return rows, nil
}

// maintain is a maintainer's task: the shipped step, again and again.
func (h *simRun) maintain() {
	for range 6 + h.rng.IntN(10) {
		before := h.rewrites()
		h.store.maintainer.step()
		h.countRewrites(before)
		h.yieldPoint("maintainer rests")
	}
}

// compact rewrites everything once, somewhere in the history.
func (h *simRun) compact() {
	for range h.rng.IntN(12) {
		h.yieldPoint("compactor waits")
	}
	before := h.rewrites()
	if err := h.store.Compact(context.Background()); err != nil && !h.refused(err) {
		h.expectClosed(err)
	}
	h.countRewrites(before)
}

// simRewrites are the events of rewrites, in the order of rewrites.
var simRewrites = [...]string{"compaction", "split", "rewrite discarded"}

// rewrites returns how many rewrites there were, by their event. Stats would ask for each file's size.
func (h *simRun) rewrites() [len(simRewrites)]int64 {
	h.store.roots.Sweep()
	c := &h.store.counters
	return [...]int64{c.compactions.Load(), c.splits.Load(), c.discarded.Load()}
}

func (h *simRun) countRewrites(before [len(simRewrites)]int64) {
	for i, n := range h.rewrites() {
		if n > before[i] {
			h.note(simRewrites[i])
		}
	}
}

// closeStore ends the history early for all tasks.
func (h *simRun) closeStore() {
	for range 20 + h.rng.IntN(40) {
		h.yieldPoint("closer waits")
	}
	h.store.Close()
	h.note("close")
}

// expectClosed accepts the only error that a task may get.
func (h *simRun) expectClosed(err error) {
	if !errors.Is(err, ErrClosed) || !h.store.closed.Load() {
		h.fail("unexpected error: %v", err)
		return
	}
	h.note("refused after close")
}

// decodedRows yields the rows of a scan as maps.
func decodedRows(t *Table, snap *Snapshot, opts ScanOptions) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for rec, err := range t.Scan(context.Background(), snap, opts) {
			if err != nil {
				yield(nil, err)
				return
			}
			rows, err := decode(rec)
			rec.Release()
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
