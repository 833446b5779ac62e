package columnstore

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/txn"
)

// Stats describes the contents and the work of a store. Sizes are heap bytes by the store's own
// accounting, or bytes on disk where the comment names Options.Dir.
type Stats struct {
	Rows     int64 // committed and not dropped
	ColdRows int64 // rows that are only in files
	Series   int   // distinct series per time bucket, summed
	Stacks   int   // distinct lists per generation, summed
	Granules int
	Parts    int
	Oldest   time.Time // start of the oldest time bucket with rows; zero if none
	Floor    time.Time // older rows were dropped and are refused; the latest of all tables; zero if nothing was dropped

	MemoryBudget, DiskBudget int64 // from Options; 0 means no limit

	PartBytes    int64 // encoded rows and the index over them
	SeriesBytes  int64 // dictionaries of series and strings
	StackBytes   int64 // dictionaries of lists and their elements
	RecordBytes  int64 // records stored beside elements: symbols
	HistoryBytes int64 // interval histories, as of the last transaction on each
	CacheBytes   int64 // contents of files that queries have read; the cache makes room for everything else
	PinnedBytes  int64 // held only by snapshots and reads in progress
	PendingBytes int64 // open transactions, inserts and rewrites in progress, and an upper bound of the log's queue

	// OldestSnapshot is the Snapshot.Commit of the oldest open snapshot or read in progress that is older
	// than the current root. It is 0 if there is none: nothing is pinned.
	OldestSnapshot txn.ID

	LogBytes   int64         // of the log in Options.Dir, which Open replays
	Files      int           // in Options.Dir, except the log: rows, dictionaries, manifests
	FileBytes  int64         // of Files
	FlushError error         // of the last attempt to write or remove files, which is repeated; nil if it succeeded
	Log        disk.LogStats // since Open; zero without a log, as with Options.ReadOnly

	Splits          int64 // rewrites of one granule into several
	Compactions     int64 // rewrites of one granule into one
	Discarded       int64 // rewrites whose granule had changed meanwhile
	RewrittenRows   int64 // rows read by rewrites
	DroppedRows     int64 // rows that retention, DropBefore, Drop or the disk budget dropped
	DiskDroppedRows int64 // part of DroppedRows: dropped for the disk budget since Open
	LostUnitRows    int64 // part of DroppedRows and EvictedRows: rows of units that were lost without Table.Drop
	EvictedRows     int64 // rows evicted for the memory budget; always 0 with a directory
	EvictedStates   int64 // bytes of history states evicted for the memory budget
	Expired         int64 // snapshots expired for a budget

	Units []TableUnit // by table in the order of creation, then by start of the bucket; without unsealed buckets
}

// TableUnit describes a sealed bucket (Table.Seal).
type TableUnit struct {
	Table string
	catalog.Unit
}

// Bytes returns all heap bytes that the store holds. MemoryBudget bounds this number.
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

// addTable adds a table's numbers. O(buckets and granules in memory).
func (s *Stats) addTable(name string, state *catalog.TableState) {
	s.Rows += state.Rows
	s.DroppedRows += state.Dropped
	s.EvictedRows += state.Evicted
	s.LostUnitRows += state.Lost
	for _, g := range state.Granules.All() {
		s.Granules++
		s.Parts += g.Parts()
	}
	for _, b := range state.Buckets.All() {
		s.Series += b.Series.Len()
		if b.Cold != nil {
			s.ColdRows += b.Cold.Rows
		}
	}
	if b, ok := state.Oldest(); ok && state.Schema.BucketColumn() >= 0 {
		first, _ := state.TimesOf(b)
		if start := time.Unix(0, first); s.Oldest.IsZero() || start.Before(s.Oldest) {
			s.Oldest = start
		}
	}
	if floor := time.Unix(0, state.Floor); state.Floor > math.MinInt64 && floor.After(s.Floor) {
		s.Floor = floor
	}
	if state.LastUnit == 0 {
		return
	}
	for _, u := range state.Units() {
		if u.ID != 0 {
			s.Units = append(s.Units, TableUnit{name, u})
		}
	}
}

func (s *Stats) addDictionaries(all *dictionaries.Generations) {
	for _, g := range all.All() {
		lists, records := g.Lists.Size()
		s.Stacks += g.Lists.Len()
		s.SeriesBytes += int64(g.Series.Size() + g.Strings.Size() + g.UUIDs.Size())
		s.StackBytes += int64(lists)
		s.RecordBytes += int64(records)
	}
}

// addDirectory adds the sizes of the files and of the log. It asks the file system for each file's size.
func (s *Stats) addDirectory(fs disk.FS, segments []disk.Segment) {
	for _, segment := range segments {
		s.LogBytes += segment.Size
	}
	sizes, _ := disk.Sizes(fs)
	for name, size := range sizes {
		if kind, _, _ := disk.ParseName(name); kind != disk.LogKind {
			s.Files++
			s.FileBytes += size
		}
	}
}

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
