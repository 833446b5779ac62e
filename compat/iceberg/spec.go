package iceberg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// specOf returns the partition spec for new files. A file has one unit's rows on one day (L4), so a spec can be used if all rows of a
// day are in one partition of it: by day, month or year of time, or without fields. Other engines can give the table another spec, such
// as one by a label, for their own files: a file may have any spec of its table. Then the newest of the table's specs that can be used
// is taken. The error is ErrTable if there is none.
func specOf(t *table.Table) (iceberg.PartitionSpec, error) {
	now := t.Spec()
	specs := slices.SortedFunc(slices.Values(t.Metadata().PartitionSpecs()), func(a, b iceberg.PartitionSpec) int { return cmp.Compare(b.ID(), a.ID()) })
	for _, spec := range append([]iceberg.PartitionSpec{now}, specs...) {
		if hasWholeDays(&spec, fieldID(t.Schema(), columnTime)) {
			return spec, nil
		}
	}
	return now, fmt.Errorf("%w: its partitions are %v, and none of its %d partition specs has a day in one partition: add one by day(%s), as init does", ErrTable, now, len(specs), columnTime)
}

// hasWholeDays reports whether a spec has all rows of a day in one partition.
func hasWholeDays(spec *iceberg.PartitionSpec, time int) bool {
	for _, f := range spec.Fields() {
		switch f.Transform.(type) {
		case iceberg.DayTransform, iceberg.MonthTransform, iceberg.YearTransform:
		default:
			return false
		}
		if !slices.Equal(f.SourceIDs, []int{time}) {
			return false
		}
	}
	return true
}
