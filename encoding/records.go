package encoding

import "iter"

// Records goes over the records in the order in which they lie in memory, each with the code
// of an element that has it. To read all records in this order takes less than half as long as
// by code, as new elements come in any order. Elements without a record, and others with the
// same, are left out. 4 bytes and about 3 ns an element beside what the caller does.
func (d *ListDict) Records() iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		elements := make([]uint32, d.records.Len()+1) // by record
		for e := range d.Elements() {
			if record := d.recordOf.at(e).Load(); int(record) < len(elements) { // others are new
				elements[record] = uint32(e + 1)
			}
		}
		for record, e := range elements {
			if record != 0 && e != 0 && !yield(e, d.records.Value(uint32(record))) {
				return
			}
		}
	}
}
