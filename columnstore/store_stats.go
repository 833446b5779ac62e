package columnstore

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/txn"
)

// counters counts the maintenance since Open.
type counters struct {
	splits, compactions, discarded, rewrittenRows, evictedStates, diskDropped atomic.Int64
}

func (c *counters) count(published bool, children, rows int) {
	switch {
	case !published:
		c.discarded.Add(1)
		return
	case children > 1:
		c.splits.Add(1)
	default:
		c.compactions.Add(1)
	}
	c.rewrittenRows.Add(int64(rows))
}

// Stats describes the contents and the work of a store. Sizes are heap bytes by the store's
// own accounting, except those of Options.Dir.
type Stats struct {
	Rows     int64 // committed and not dropped
	ColdRows int64 // of these, the rows that are in files and not in memory
	Series   int   // distinct series per time bucket, summed
	Stacks   int   // distinct lists per generation, summed
	Granules int
	Parts    int
	Oldest   time.Time // start of the oldest time bucket with rows; zero if none
	Floor    time.Time // of all tables the latest start of what takes rows, older ones were dropped; zero if none was

	MemoryBudget, DiskBudget int64 // those of Options; 0 is no limit

	PartBytes    int64 // encoded rows and the index over them
	SeriesBytes  int64 // dictionaries of series and strings
	StackBytes   int64 // dictionaries of lists and their elements
	RecordBytes  int64 // records stored beside elements: symbols
	HistoryBytes int64 // interval histories, as of the last transaction on each
	CacheBytes   int64 // contents of files that queries have read, which make room for all else
	PinnedBytes  int64 // held only by snapshots and reads in progress
	PendingBytes int64 // open transactions, inserts and rewrites in progress; the most that the log keeps

	// OldestSnapshot is the Snapshot.Commit of the oldest open snapshot, or read in progress,
	// that a later commit or rewrite has followed. It is 0 if there is none: nothing is pinned.
	OldestSnapshot txn.ID

	LogBytes    int64         // of the log in Options.Dir, which Open repeats
	Files       int           // in Options.Dir, without the log: rows, dictionaries, manifests
	FileBytes   int64         // of these
	FilingError error         // of the last attempt to write files or to remove old ones, which is repeated; nil if it succeeded
	Log         disk.LogStats // the work of the log since Open; zero without one, as in a store that reads

	Splits          int64 // rewrites of one granule into several
	Compactions     int64 // rewrites of one granule into one
	Discarded       int64 // rewrites whose granule had changed meanwhile
	RewrittenRows   int64 // rows read by rewrites
	DroppedRows     int64 // rows that retention, DropBefore or the disk budget dropped
	DiskDroppedRows int64 // of DroppedRows, those dropped for the disk budget since Open
	EvictedRows     int64 // rows evicted for the memory budget; with a directory none is
	EvictedStates   int64 // bytes of states of histories evicted for the memory budget
	Expired         int64 // snapshots expired for a budget
}

// Bytes returns all bytes that the store holds. MemoryBudget bounds this number.
func (s Stats) Bytes() int64 {
	return s.PartBytes + s.SeriesBytes + s.StackBytes + s.RecordBytes + s.HistoryBytes + s.CacheBytes + s.PinnedBytes + s.PendingBytes
}

// WriteAmplification returns the average number of times that a committed row was written:
// once, and again by each rewrite. It is 0 without rows.
func (s Stats) WriteAmplification() float64 {
	committed := s.Rows + s.DroppedRows + s.EvictedRows
	if committed == 0 {
		return 0
	}
	return float64(committed+s.RewrittenRows) / float64(committed)
}

// Stats describes the current state of all tables. It visits all granules, so it is for
// reports and scrapes, not for every insert. With a directory it asks the size of each file.
func (s *Store) Stats() Stats {
	s.roots.Sweep()
	root := s.roots.Root().State
	out := Stats{
		MemoryBudget: s.opts.MemoryBudget, DiskBudget: s.opts.DiskBudget,
		PartBytes:       root.Bytes,
		HistoryBytes:    s.memory.histories.Load(),
		CacheBytes:      s.cache.Bytes(),
		PinnedBytes:     s.roots.Held(),
		PendingBytes:    s.memory.pending.Load() + s.memory.log,
		Splits:          s.counters.splits.Load(),
		Compactions:     s.counters.compactions.Load(),
		Discarded:       s.counters.discarded.Load(),
		RewrittenRows:   s.counters.rewrittenRows.Load(),
		EvictedStates:   s.counters.evictedStates.Load(),
		Expired:         s.roots.Expired(),
		DiskDroppedRows: s.counters.diskDropped.Load(),
	}
	out.OldestSnapshot, _ = s.roots.Oldest()
	for _, t := range s.tablesInOrder() {
		state := root.Table(t.ordinal)
		if state == nil {
			continue // created since
		}
		out.Rows += state.Rows
		out.DroppedRows += state.Dropped
		out.EvictedRows += state.Evicted
		for _, g := range state.Granules.All() {
			out.Granules++
			out.Parts += g.Parts()
		}
		for _, b := range state.Buckets.All() {
			b.Series.All(func(uint32) { out.Series++ })
			if b.Cold != nil {
				out.ColdRows += b.Cold.Rows
			}
		}
		if b, ok := state.Oldest(); ok && t.schema.BucketColumn() >= 0 {
			if start := time.Unix(0, b.Start); out.Oldest.IsZero() || start.Before(out.Oldest) {
				out.Oldest = start
			}
		}
		if floor := time.Unix(0, state.Floor); state.Floor > math.MinInt64 && floor.After(out.Floor) {
			out.Floor = floor
		}
		t.addGenerations(&out)
	}
	s.addDisk(&out)
	return out
}

// addDisk adds what is in the directory.
func (s *Store) addDisk(out *Stats) {
	if s.opts.FS == nil {
		return
	}
	out.Log = s.log.Stats()
	for _, segment := range s.segments() {
		out.LogBytes += segment.Size
	}
	sizes, _ := disk.Sizes(s.opts.FS)
	for name, size := range sizes {
		if kind, _, _ := disk.ParseName(name); kind != disk.LogKind {
			out.Files++
			out.FileBytes += size
		}
	}
	if err := s.keeper.failing.Load(); err != nil {
		out.FilingError = *err
	}
}
