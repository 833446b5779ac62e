package columnstore

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/granarydb/granary/internal/oracle"
)

// simUnits is the oracle's state of units.
type simUnits struct {
	rng    *rand.Rand // of the task that seals; nil if the history has none
	rows   map[unitKey][]string
	sealed map[unitKey]uint64 // the commit
}

type unitKey struct {
	table int
	id    uint64
}

// newSimUnits returns the initial state for a history. One history in `one` has units, if there are
// ranges.
func newSimUnits(seed uint64, bucket int64, one uint64) (u simUnits) {
	u.rows, u.sealed = map[unitKey][]string{}, map[unitKey]uint64{}
	if seed%one == 1 && bucket > 0 { // so that other histories do not change
		u.rng = rand.New(rand.NewPCG(seed, 7))
	}
	return u
}

// publishedUnits notes the units that a commit has sealed.
func (h *simRun) publishedUnits() {
	root := h.store.roots.Root()
	for i, table := range h.tables {
		for _, u := range root.State.Table(table.ordinal).Units() {
			key := unitKey{i, u.ID}
			if _, known := h.units.sealed[key]; u.ID != 0 && !known {
				h.units.sealed[key] = uint64(root.Commit)
				h.note("unit sealed")
			}
		}
	}
}

// forget forgets the units of commits that a crash has lost.
func (u *simUnits) forget(last uint64) {
	for key, commit := range u.sealed {
		if commit > last {
			delete(u.sealed, key)
			delete(u.rows, key)
		}
	}
}

// sealUnits is the task that seals buckets, reads units and drops them.
func (h *simRun) sealUnits() {
	rng := h.units.rng
	for range 6 + rng.IntN(20) {
		h.yieldPoint("sealer rests")
		table := rng.IntN(len(h.tables))
		var ok bool
		switch rng.IntN(5) {
		case 0, 1:
			before := rng.Int64N(90 + h.bucket)
			if h.timesGoOn() {
				before += h.nextRow - 30
			}
			ok = h.seal(table, before)
		case 2:
			ok = h.dropUnits(table)
		default:
			ok = h.snapshot(func(snap *Snapshot) { h.lookAtUnits(snap, table) })
		}
		if !ok {
			return
		}
	}
}

// seal seals the buckets of a table that end before a time. It returns false if the store is closed.
func (h *simRun) seal(table int, before int64) bool {
	return h.changeUnits(&simCommit{units: true, rows: make([][]string, len(h.tables))}, func() error {
		_, err := h.tables[table].Seal(context.Background(), before)
		return err
	})
}

// dropUnits drops some units of a table. It returns false if the store is closed.
func (h *simRun) dropUnits(table int) bool {
	var units []Unit
	if !h.snapshot(func(snap *Snapshot) { units = h.lookAtUnits(snap, table) }) {
		return false
	}
	var ids []uint64
	gone := map[string]bool{}
	for _, u := range units {
		if u.ID != 0 && h.units.rng.IntN(2) == 0 {
			ids = append(ids, u.ID)
			for _, row := range h.units.rows[unitKey{table, u.ID}] {
				gone[row] = true
			}
		}
	}
	if len(ids) == 0 {
		return true
	}
	return h.changeUnits(&simCommit{units: true, rows: make([][]string, len(h.tables)), gone: map[int]map[string]bool{table: gone}}, func() error {
		id, err := h.tables[table].Drop(context.Background(), ids)
		if id != 0 {
			h.note("unit dropped")
			h.crashSoon()
		}
		return err
	})
}

// crashSoon lets a crash follow in some histories before files have the last commits, so that only the
// log has them.
func (h *simRun) crashSoon() {
	if h.crashing != nil && h.steps > 0 && h.units.rng.IntN(2) == 0 {
		h.steps = min(h.steps, 2+h.units.rng.IntN(10))
	}
}

// changeUnits commits a change of units, unless there is nothing to change.
func (h *simRun) changeUnits(c *simCommit, change func() error) bool {
	h.current.commit = c
	err := change()
	h.current.commit = nil
	if err == nil && c.id != 0 {
		h.acknowledged(c.id)
	}
	if err != nil && !h.refused(err) {
		h.expectClosed(err)
		return false
	}
	return true
}

// lookAtUnits reads a table by its units, and returns them. Each row is in a unit or in the rest, and a
// unit has the same rows as when it was first read.
func (h *simRun) lookAtUnits(snap *Snapshot, table int) []Unit {
	h.reading++
	defer func() { h.reading-- }()
	t := h.tables[table]
	units, _, err := t.Units(snap)
	v := simView{commit: uint64(snap.Commit()), table: table, by: "units"}
	read := func(id uint64) (rows []string, ok bool) {
		rows, err := scanSim(t, snap, ScanOptions{Buckets: []uint64{id}, Ordered: h.units.rng.IntN(2) == 0})
		if h.expired(err, "read cut off by expiry") {
			return nil, false
		}
		if err != nil {
			h.fail("unit %d of table %d at commit %d: %v", id, table, v.commit, err)
			return nil, false
		}
		slices.Sort(rows)
		v.rows = append(v.rows, rows...)
		return rows, true
	}
	if h.expired(err, "snapshot expired") {
		return nil
	}
	there := map[uint64]bool{}
	loose := int64(0)
	for _, u := range units {
		if u.ID == 0 {
			loose += u.Rows
			continue
		}
		rows, ok := read(u.ID)
		if !ok {
			return nil
		}
		there[u.ID] = true
		h.checkUnit(unitKey{table, u.ID}, u, rows)
	}
	if rows, ok := read(0); !ok {
		return nil
	} else if int64(len(rows)) != loose {
		h.fail("table %d at commit %d has %d rows in no unit, and says %d", table, v.commit, len(rows), loose)
	}
	r, err := snap.peek(t)
	if h.expired(err, "snapshot expired") {
		return nil
	}
	v.floor = r.State.Floor
	slices.Sort(v.rows)
	h.views = append(h.views, v)
	h.note("read of units")
	h.missUnits(table, v.commit, v.floor, there)
	return units
}

// checkUnit checks a unit's rows.
func (h *simRun) checkUnit(key unitKey, u Unit, rows []string) {
	for _, row := range rows {
		if at := timeOf(row); at < u.First || at > u.Last {
			h.fail("unit %d of table %d has times from %d to %d, and a row of %d", u.ID, key.table, u.First, u.Last, at)
		}
	}
	if int64(len(rows)) != u.Rows {
		h.fail("unit %d of table %d has %d rows, and says %d", u.ID, key.table, len(rows), u.Rows)
	}
	before, known := h.units.rows[key]
	if !known {
		h.units.rows[key] = rows
	} else if !slices.Equal(before, rows) {
		h.fail("unit %d of table %d has changed: missing %v, too many %v", u.ID, key.table, oracle.Without(before, rows), oracle.Without(rows, before))
	}
}

// missUnits checks that no unit is missing that was sealed, and neither dropped nor below the floor.
func (h *simRun) missUnits(table int, commit uint64, floor int64, there map[uint64]bool) {
	gone := map[string]bool{}
	for _, c := range h.commits.Until(commit) {
		for row := range c.gone[table] {
			gone[row] = true
		}
	}
	for key, rows := range h.units.rows {
		if key.table != table || there[key.id] || h.units.sealed[key] > commit {
			continue
		}
		if timeOf(rows[0]) >= floor && !gone[rows[0]] {
			h.fail("unit %d of table %d is missing at commit %d", key.id, table, commit)
		}
	}
}

// seals is a task that seals the buckets that end before a time.
func seals(before int64) func(*simRun) {
	return func(h *simRun) { h.seal(0, before) }
}

// dropsUnits is a task that drops some units.
func dropsUnits(h *simRun) { h.dropUnits(0) }

// readsUnits reads all units of a snapshot, twice.
func readsUnits(h *simRun) {
	h.snapshot(func(snap *Snapshot) {
		h.lookAtUnits(snap, 0)
		h.lookAtUnits(snap, 0)
	})
}
