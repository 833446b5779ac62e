package stored

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/catalog/filed"
	"github.com/granarydb/granary/disk"
)

// timeRange is a time range of a table, with all of its buckets.
type timeRange struct {
	table      int
	start, end int64
	bytes      int64 // of its files
}

// OldestRanges chooses the oldest time ranges over all tables, until their files have so many bytes, or until
// none is left. It returns the floors without them, by ordinal of the table. A table keeps its newest range,
// unless it has rows of a later one in coming: the start of the newest of these, by ordinal. O(buckets).
func OldestRanges(root *catalog.Database, m *filed.Manifest, coming map[int]int64, bytes int64) map[int]int64 {
	var ranges []timeRange
	for ordinal, state := range root.Tables {
		if state.Schema.BucketWidth() == 0 {
			continue
		}
		newest := state.Schema.BucketStart(state.Newest)
		if start, ok := coming[ordinal]; ok {
			newest = max(newest, start)
		}
		files := m.Table(ordinal)
		for _, b := range state.Buckets.All() {
			start := state.Schema.BucketStart(b.Start)
			if start >= newest {
				break
			}
			if n := len(ranges); n == 0 || ranges[n-1].table != ordinal || ranges[n-1].start != start {
				ranges = append(ranges, timeRange{table: ordinal, start: start, end: state.Schema.BucketEnd(start)})
			}
			file, _ := files.Bucket(b.Start)
			ranges[len(ranges)-1].bytes += file.Bytes
		}
	}
	slices.SortStableFunc(ranges, func(a, b timeRange) int { return cmp.Compare(a.start, b.start) })
	floors := map[int]int64{}
	for _, r := range ranges {
		if bytes <= 0 {
			break
		}
		floors[r.table] = r.end
		bytes -= r.bytes
	}
	return floors
}

// ToReplace returns the bytes of the files of rows in a manifest that a Writer would replace, because their
// buckets have got rows. O(buckets and granules in memory).
func ToReplace(root *catalog.Database, m *filed.Manifest) (bytes int64) {
	for ordinal, state := range root.Tables {
		files := m.Table(ordinal)
		for _, b := range state.Buckets.All() {
			if file, ok := files.Bucket(b.Start); ok && !areFiled(state.HotGranules(b), file.Through) {
				bytes += file.Bytes
			}
		}
	}
	return bytes
}

// Trimmed returns the manifest without the time ranges that were dropped since: those before the floors of the
// root. It is nil if the manifest has none of these. first returns the number of the first generation of a
// table from a floor on. The commits that raised the floors must be durable before the manifest is written.
func Trimmed(m *filed.Manifest, root *catalog.Database, first func(table int, floor int64) int64) *filed.Manifest {
	var next *filed.Manifest
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

// Waiting returns the bytes of files of rows and dictionaries that the manifest does not name: they go when no
// older root is read.
func Waiting(space *disk.Space, m *filed.Manifest) int64 {
	named := m.Names()
	return space.Bytes(func(name string) bool {
		kind, _, _ := disk.ParseName(name)
		return kind != disk.LogKind && kind != filed.ManifestKind && !named[name]
	})
}
