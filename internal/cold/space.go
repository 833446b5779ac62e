package cold

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
)

// timeRange is a time range of a table, with all of its buckets.
type timeRange struct {
	table      int
	start, end int64
	bytes      int64 // bytes of its files, and an estimate for rows without a file
}

// AllTables is the ordinal that stands for each table.
const AllTables = -1

// OldestRanges chooses the oldest time ranges of a table, or of AllTables, until they have the given bytes, or until
// none is left. It returns the floors without them, by the table's ordinal. A table keeps its newest range,
// unless pending rows open a later range: coming[i] is the start of the newest range that pending rows of
// table i open. A range's bytes are its files and a share of rowBytes for its unfiled rows. rowBytes
// estimates the files of all unfiled rows; it is 0 if they are not to be written. A range without bytes is
// dropped only together with a later range, because dropping it alone frees nothing. Of all tables, buckets that
// share a file free it with the last of them. Of one table each frees its part, as TableLimits counts it: a file
// that few still use is written anew. O(buckets and granules in memory).
func OldestRanges(root *catalog.Database, m *files.Manifest, table int, coming map[int]int64, bytes, rowBytes int64) map[int]int64 {
	var ranges []timeRange
	each := 0.0
	if rowBytes > 0 {
		unfiled, _ := Unfiled(root, m)
		each = float64(rowBytes) / float64(max(1, unfiled))
	}
	for ordinal, state := range root.Tables {
		if state.Schema.BucketWidth() == 0 || table != AllTables && table != ordinal {
			continue
		}
		newest := state.Schema.BucketStart(state.Newest)
		if start, ok := coming[ordinal]; ok {
			newest = max(newest, start)
		}
		files := m.Table(ordinal)
		var shared map[uint64]sharedFile
		if table == AllTables {
			shared = sharedFiles(files)
		}
		for _, b := range state.Buckets.All() {
			start := state.Schema.BucketStart(b.Start)
			if start >= newest {
				break
			}
			if n := len(ranges); n == 0 || ranges[n-1].table != ordinal || ranges[n-1].start != start {
				ranges = append(ranges, timeRange{table: ordinal, start: start, end: state.Schema.BucketEnd(start)})
			}
			file, _ := files.FileOf(b)
			ranges[len(ranges)-1].bytes += freed(file, shared)
			if rowBytes > 0 {
				ranges[len(ranges)-1].bytes += int64(each * float64(unfiledRows(state.HotGranules(b), file.Through)))
			}
		}
	}
	slices.SortStableFunc(ranges, func(a, b timeRange) int { return cmp.Compare(a.start, b.start) })
	floors := map[int]int64{}
	for _, r := range ranges {
		if bytes <= 0 {
			break
		}
		if bytes -= r.bytes; r.bytes > 0 {
			floors[r.table] = r.end
		}
	}
	return floors
}

// sharedFile is the bytes of a file that buckets share, and the last of them, which frees it.
type sharedFile struct{ last, bytes int64 }

func sharedFiles(t *files.TableFiles) map[uint64]sharedFile {
	shared := map[uint64]sharedFile{}
	for i := 0; t != nil && i < len(t.Buckets); i++ {
		if b := &t.Buckets[i]; b.Shared > 0 {
			shared[b.File] = sharedFile{b.Start, shared[b.File].bytes + b.Bytes}
		}
	}
	return shared
}

// freed returns the bytes that a bucket frees if it is dropped after all earlier ones: its part of a file that is not in
// shared.
func freed(b files.BucketFile, shared map[uint64]sharedFile) int64 {
	switch f, known := shared[b.File]; {
	case !known:
		return b.Bytes
	case f.last == b.Start:
		return f.bytes
	}
	return 0
}

// Unfiled returns the number of rows in memory that no file in the manifest has, and the bytes of the files
// that a Writer would replace, because their buckets have got such rows. O(buckets and granules in memory).
func Unfiled(root *catalog.Database, m *files.Manifest) (rows, replaced int64) {
	for ordinal, state := range root.Tables {
		files := m.Table(ordinal)
		for _, b := range state.Buckets.All() {
			file, _ := files.FileOf(b)
			if n := unfiledRows(state.HotGranules(b), file.Through); n > 0 {
				rows += n
				replaced += file.Bytes
			}
		}
	}
	return rows, replaced
}

// unfiledRows returns the number of rows from commits after through, which the file lacks.
func unfiledRows(granules []*granule.Granule, through uint64) (rows int64) {
	for _, g := range granules {
		for _, section := range g.Sections() {
			if section.Part.Commit() > through {
				rows += int64(section.Rows())
			}
		}
	}
	return rows
}

// Trimmed returns the manifest without the time ranges before the root's floors, which were dropped since
// it was written. It returns nil if the manifest has no such range. first returns a table's first
// generation from a floor on. The commits that raised the floors must be durable before the manifest is
// written.
func Trimmed(m *files.Manifest, root *catalog.Database, first func(table int, floor int64) int64) *files.Manifest {
	var next *files.Manifest
	for i, state := range root.Tables {
		before := m.Table(i)
		if before == nil || len(before.Buckets) == 0 || before.Buckets[0].Start >= state.Floor {
			continue
		}
		if next == nil {
			clone := *m
			clone.Tables = slices.Clone(m.Tables)
			next = &clone
		}
		t := &next.Tables[i]
		t.Buckets, t.Generations = slices.Clone(t.Buckets), slices.Clone(t.Generations)
		RaiseFloor(t, state.Floor, first(i, state.Floor))
	}
	return next
}

// Waiting returns the bytes of rows and dictionaries in files that the manifest does not name. They are
// removed when no older root is read.
func Waiting(space *disk.Space, m *files.Manifest) int64 {
	named := m.Names()
	return space.Bytes(func(name string) bool {
		kind, _, _ := disk.ParseName(name)
		return kind != disk.LogKind && kind != files.ManifestKind && !named[name]
	})
}
