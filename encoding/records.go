package encoding

import "slices"

// ElementsByRecord returns elements in the order in which their records lie in memory, one
// for each record: to read all records in this order is twice as fast as by code, as new
// elements come in any order. Elements without a record, and others with the same, are left
// out. 4 bytes and about 3 ns an element.
func (d *ListDict) ElementsByRecord() []uint32 {
	order := make([]uint32, d.records.Len()+1)
	for e := range d.Elements() {
		if record := d.recordOf.at(e).Load(); int(record) < len(order) { // others are new
			order[record] = uint32(e + 1)
		}
	}
	return slices.DeleteFunc(order[1:], func(e uint32) bool { return e == 0 })
}
