package columnstore

import (
	"math"
	"time"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/txn"
)

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

	LogBytes   int64         // of the log in Options.Dir, which Open repeats
	Files      int           // in Options.Dir, without the log: rows, dictionaries, manifests
	FileBytes  int64         // of these
	FlushError error         // of the last attempt to write files or to remove old ones, which is repeated; nil if it succeeded
	Log        disk.LogStats // the work of the log since Open; zero without one, as in a store that reads

	Splits          int64 // rewrites of one granule into several
	Compactions     int64 // rewrites of one granule into one
	Discarded       int64 // rewrites whose granule had changed meanwhile
	RewrittenRows   int64 // rows read by rewrites
	DroppedRows     int64 // rows that retention, DropBefore, Drop or the disk budget dropped
	DiskDroppedRows int64 // of DroppedRows, those dropped for the disk budget since Open
	LostUnitRows    int64 // of DroppedRows and EvictedRows, those of units that Table.Drop had not dropped
	EvictedRows     int64 // rows evicted for the memory budget; with a directory none is
	EvictedStates   int64 // bytes of states of histories evicted for the memory budget
	Expired         int64 // snapshots expired for a budget

	Units []TableUnit // of all tables in the order of their creation, each by the starts of buckets; without those of no unit
}

// TableUnit is the rows of a bucket that was sealed (Table.Seal).
type TableUnit struct {
	Table string
	catalog.Unit
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

// addTable adds the rows of a table. O(buckets and granules in memory).
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
		b.Series.All(func(uint32) { s.Series++ })
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

// addDictionaries adds the dictionaries of a table.
func (s *Stats) addDictionaries(all *dictionaries.Generations) {
	for _, g := range all.All() {
		lists, records := g.Lists.Size()
		s.Stacks += g.Lists.Len()
		s.SeriesBytes += int64(g.Series.Size() + g.Strings.Size() + g.UUIDs.Size())
		s.StackBytes += int64(lists)
		s.RecordBytes += int64(records)
	}
}

// addDirectory adds the files of a directory and the segments of its log. It asks the size of each file.
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
