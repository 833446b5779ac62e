package columnstore

import (
	"context"
	"errors"
	"flag"
	"io"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/repair"
)

var crashSeeds = flag.Uint64("sim.crashes", uint64(60-45*boolInt(effort.Race)), "how many histories with crashes the simulator runs")

// TestCrashes runs histories of a store with a log, which crash and are opened again, with other options
// each time (D1, D3, D4). It fails at the first wrong history, with the command that runs it again.
func TestCrashes(t *testing.T) {
	effort.Alone(t)
	collectRarely(t)
	lowerDiskBudget(t)
	events := map[string]int{}
	seeds := effort.Less(*crashSeeds, 6)
	for seed := *simSeed; seed < *simSeed+seeds; seed++ {
		h := newCrashing(seed)
		err := h.run()
		for name, n := range h.events {
			events[name] += n
		}
		if *simTrace {
			t.Logf("seed %d:\n%s", seed, h.traced())
		}
		if err != nil {
			t.Fatalf("%v\nseed %d, commit %s, policy %d, options %s\nrun it again: go test ./columnstore -run 'TestCrashes$' -sim.seed %d -sim.crashes 1 -sim.trace -v",
				err, seed, head(), h.opts.Sync, h.options(), seed)
		}
	}
	for _, name := range crashEvents {
		t.Logf("%9d %s", events[name], name)
		if events[name] == 0 && seeds >= 200 {
			t.Errorf("event %q never happened", name)
		}
	}
}

// crashEvents are what must happen in some history with crashes.
var crashEvents = []string{
	"crash", "close and open", "commit lost", "commit that was not acknowledged survives", "no commit lost", "segments",
	"commit", "abort", "split", "bucket cut", "refused as too old", "log task", "rows after a crash",
	"refused by the disk", "not durable", "filed", "files", "flush failed",
	"bucket unloaded", "row of a cold bucket", "file of a cold bucket replaced", "dictionaries unloaded", "dictionaries read for rows",
	"commit of states", "states after a crash", "states dropped before a crash", "states evicted outside of a commit",
	"unit sealed", "unit dropped", "read of units", "units after a crash", "directory verified",
	"commit of a drop", "rows dropped by hand", "ranges dropped for the disk budget",
}

// crashing is the additional state of a history with crashes.
type crashing struct {
	fs       *crashfs.FS
	now      time.Time
	steps    int    // until the next crash
	promised uint64 // the last commit that a crash must not lose
	acked    map[uint64]bool
	evicted  map[int64]bool // starts of the history after evictions outside of commits
	space    simSpace
}

// newCrashing returns a history of a store with a log.
func newCrashing(seed uint64) *simRun {
	h := newHistory(seed)
	h.crashing = &crashing{
		fs:    crashfs.New(crashfs.Options{Seed: seed, Keep: float64(h.rng.IntN(3)) / 2}),
		now:   time.Unix(0, 0),
		acked: map[uint64]bool{}, evicted: map[int64]bool{},
	}
	h.opts.Sync, h.opts.Now = disk.SyncPolicy(h.rng.IntN(3)), func() time.Time { return h.now }
	h.opts.segmentBytes, h.opts.queueBytes = 5<<10+h.rng.Int64N(20<<10), 1<<10+h.rng.Int64N(20<<10)
	h.opts.imageBytes = 1 + h.rng.Int64N(1<<h.rng.IntN(12))
	h.opts.FS, h.opts.Rand = h.fs, strings.NewReader(strings.Repeat("granary?", 20))
	h.units = newSimUnits(seed, h.bucket, 2)
	h.steps = 20 + h.rng.IntN(300)
	if h.space.bounded = h.bucket == 20 && seed%2 == 0; h.space.bounded { // so that other histories do not change
		h.boundSpace()
	}
	return h
}

// logs is the task of the log's goroutine, and of time.
func (h *simRun) logs() {
	for range 10 + h.rng.IntN(30) {
		h.yieldPoint("log rests")
		h.note("log task")
		h.now = h.now.Add(time.Duration(h.rng.ExpFloat64() * float64(300*time.Millisecond)))
		switch h.rng.IntN(8) {
		case 0:
			published := h.commits.Last()
			err := h.store.log.Sync(context.Background(), math.MaxUint64)
			if h.refused(err) {
				continue
			}
			if err != nil {
				h.expectClosed(err)
				return
			}
			h.promised = max(h.promised, published)
		case 1:
			h.fault()
		case 2:
			h.fs.Heal()
		case 3:
			h.evictStates()
		case 4:
			if !h.dropRows() {
				return
			}
		default:
			h.store.log.Step()
		}
	}
}

// dropRows drops old rows of a table, or all of it. It returns false if the store is closed.
func (h *simRun) dropRows() bool {
	table := h.rng.IntN(len(h.tables))
	if h.bucket == 0 || !h.timesGoOn() {
		return true
	}
	at := h.nextRow + h.rng.Int64N(120) - 60
	before := h.droppedRows()
	h.current.commit = &simCommit{rows: make([][]string, len(h.tables)), drops: map[int]int64{table: at}}
	id, err := h.tables[table].DropBefore(context.Background(), at)
	if h.refused(err) {
		return true
	}
	if err != nil {
		h.expectClosed(err)
		return false
	}
	h.acknowledged(uint64(id))
	h.note("commit of a drop")
	if h.droppedRows() > before {
		h.note("rows dropped by hand")
	}
	return true
}

// droppedRows is that of Stats, which would ask for each file's size.
func (h *simRun) droppedRows() (rows int64) {
	h.store.roots.Sweep()
	for _, state := range h.store.roots.Root().State.Tables {
		rows += state.Dropped
	}
	return rows
}

// files is the flusher's task.
func (h *simRun) files() {
	for range 3 + h.rng.IntN(10) {
		h.yieldPoint("flusher rests")
		before := h.store.flusher.manifest
		err := h.file()
		switch {
		case err == nil && h.store.flusher.manifest != before:
			h.note("filed")
			if h.rng.IntN(3) == 0 { // whatever the memory
				for _, v := range h.store.memory.unloadable(h.store.roots.Root().State) {
					h.store.memory.unload(v)
				}
			}
			h.promised = max(h.promised, h.store.flusher.manifest.Commit)
		case err != nil:
			h.note("flush failed")
			if !errors.Is(err, disk.ErrDisk) && !errors.Is(err, ErrMemory) && !errors.Is(err, ErrSnapshotExpired) && !errors.Is(err, disk.ErrNotDurable) {
				h.fail("file: %v", err)
				return
			}
		}
	}
}

// file files as the flusher does, in one run.
func (h *simRun) file() error {
	fl := &h.store.flusher
	if !fl.flushing.TryLock() {
		return nil // an insert files, to make room
	}
	defer fl.flushing.Unlock()
	h.reading++
	defer func() { h.reading-- }()
	return h.store.flusher.flush(context.Background())
}

// isFlushing reports whether a task files: it holds a root.
func (h *simRun) isFlushing() bool {
	if h.store.flusher.flushing.TryLock() {
		h.store.flusher.flushing.Unlock()
		return false
	}
	return true
}

// fault makes a call of the disk fail, once or until the disk heals.
func (h *simRun) fault() {
	h.fs.Fail(&crashfs.Fault{
		Err: []error{syscall.ENOSPC, syscall.EIO}[h.rng.IntN(2)], After: h.rng.IntN(12), Forever: h.rng.IntN(2) == 0,
		Ops: []crashfs.Op{crashfs.Create, crashfs.Remove, crashfs.SyncDir, crashfs.WriteAt, crashfs.Sync, crashfs.Reserve},
	})
}

// acknowledged records that a commit returned.
func (h *simRun) acknowledged(commit uint64) {
	if h.crashing == nil {
		return
	}
	h.acked[commit] = true
	if h.opts.Sync == disk.SyncEach {
		h.promised = max(h.promised, commit)
	}
}

// crash ends all tasks, and goes on with the disk after a crash, or after Close.
func (h *simRun) crash() {
	for _, t := range h.tasks {
		t.stop()
	}
	h.tasks = nil
	h.check()
	if h.failure != nil {
		return
	}
	h.fs.Heal()
	if h.rng.IntN(4) == 0 {
		h.note("close and open")
		h.promised = h.commits.Last()
		h.store.Close()
		if h.store.dir.err != nil {
			h.fail("close: %v", h.store.dir.err)
			return
		}
	} else {
		h.note("crash")
	}
	h.fs = h.fs.Crash()
	if h.units.rng != nil && h.units.rng.IntN(4) == 0 {
		h.verify()
	}
	kept := h.logged()
	h.checkPrefix(kept)
	if h.failure == nil {
		h.reopen()
	}
	if h.failure == nil {
		h.startTasks()
	}
}

// verify checks the disk after a crash as granary verify does. It reports files whose manifest was not
// written yet as damage, and an incomplete manifest, which costs nothing because the previous manifest is
// there.
func (h *simRun) verify() {
	report, err := repair.Verify(context.Background(), h.fs, nil)
	if err != nil || slices.ContainsFunc(report.Damages, func(d repair.Damage) bool {
		return !d.All && (!strings.HasPrefix(d.File, "manifest-") || d.Loss != repair.Loss{})
	}) {
		h.fail("what a crash left is damaged: %+v, %v", report, err)
	}
	h.note("directory verified")
}

// logged returns the ids of the commits on the disk, in files and in the log.
func (h *simRun) logged() (commits []uint64) {
	id := h.store.dir.id
	_, manifest, err := files.OpenDir(h.fs, id)
	if err != nil {
		h.fail("read the manifest: %v", err)
		return nil
	}
	through, from := uint64(0), uint64(0)
	if manifest != nil {
		h.note("files")
		through, from = manifest.Commit, manifest.Segment
	}
	for commit := range h.commits.All() {
		if commit <= through {
			commits = append(commits, commit)
		}
	}
	slices.Sort(commits)
	r, err := disk.ReadLog(h.fs, id, from)
	if err != nil {
		h.fail("read the log: %v", err)
		return nil
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			h.fail("read the log: %v", err)
			break
		}
		if (e.Kind == entries.EntryCommit || e.Kind == entries.EntryUnits) && e.Commit > through {
			commits = append(commits, e.Commit)
		}
	}
	if len(r.Segments()) > 1 {
		h.note("segments")
	}
	return commits
}

// checkPrefix checks that the commits on the disk are a prefix (D1), and have at least the commits that
// the policy promises. The oracle forgets the others.
func (h *simRun) checkPrefix(kept []uint64) {
	var all []uint64
	for id := range h.commits.All() {
		all = append(all, id)
	}
	slices.Sort(all)
	if n := min(len(kept), len(all)); !slices.Equal(kept, all[:n]) {
		h.fail("the log has the commits %v of %v", kept, all)
		return
	}
	last := uint64(0)
	if len(kept) > 0 {
		last = kept[len(kept)-1]
	}
	switch {
	case last < h.promised:
		h.fail("commits up to %d are lost, %d was promised", last, h.promised)
		return
	case len(kept) < len(all):
		h.note("commit lost")
	default:
		h.note("no commit lost")
	}
	for _, id := range kept {
		if !h.acked[id] {
			h.note("commit that was not acknowledged survives")
		}
	}
	var left oracle.Log[simCommit]
	for id, c := range h.commits.Until(last) {
		left.Add(id, c)
	}
	h.commits, h.stateTime = left, 0
	h.units.forget(last)
	h.committedStates(h.statesOf(math.MaxUint64))
	h.promised = last // a commit that was read once must not be lost later
}

// reopen opens the store again, with other options, and compares its rows with the oracle.
func (h *simRun) reopen() {
	h.views, h.kept, h.snaps, h.reading = nil, nil, map[*Snapshot]bool{}, 0
	h.dropped, h.before, h.cold = map[*granule.Generation]int64{}, map[int]*catalog.TableState{}, newColdSeen()
	h.opts.FS, h.opts.Rand = h.fs, strings.NewReader(strings.Repeat("granary?", 20))
	h.opts.GranuleRows, h.opts.FreshParts, h.opts.GenerationBuckets = 1+h.rng.IntN(24), 2+h.rng.IntN(4), 1+h.rng.IntN(4)
	h.opts.MaxParts = h.opts.FreshParts + h.rng.IntN(6)
	if h.space.bounded {
		h.boundSpace()
	}
	store, err := Open(h.opts)
	if err != nil {
		h.fail("open: %v", err)
		return
	}
	h.store = store
	h.openedSpace()
	if commit := uint64(store.roots.Root().Commit); commit != h.promised {
		h.fail("the store has commit %d, the log %d", commit, h.promised)
		return
	}
	for i, old := range h.tables {
		h.tables[i] = store.Table(old.name)
		if h.tables[i] == nil {
			h.fail("table %q is lost", old.name)
			return
		}
	}
	if h.states != nil {
		if h.states = store.History("states"); h.states == nil {
			h.fail("the history is lost")
			return
		}
		h.snapshot(h.checkRecovered)
	}
	if store.Stats().Rows > 0 {
		h.note("rows after a crash")
	}
	if h.excess = 0; store.memory.budget.Load() > 0 && store.memory.used() > store.memory.budget.Load() {
		if h.excess = store.memory.used(); store.memory.canFit(incoming{}) {
			h.fail("%d bytes are used of a budget of %d, although some can be evicted", h.excess, store.memory.budget.Load())
			return
		}
	}
	h.checkMemory()
	for table := range h.tables {
		h.snapshot(func(snap *Snapshot) {
			h.lookAt(snap, table)
			if h.units.rng != nil && len(h.lookAtUnits(snap, table)) > 0 && len(h.units.rows) > 0 {
				h.note("units after a crash")
			}
		})
	}
	h.check()
}
