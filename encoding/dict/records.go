package dict

import (
	"iter"
	"sync"
)

var recordWork = sync.Pool{New: func() any { return new([]uint32) }}

// keptRecords bounds the size of pooled memory, in elements of 4 bytes.
const keptRecords = 1 << 18

// Records yields the records in memory order, each with the code of an element that has it. New elements
// come in any order, so reading all records this way takes less than half as long as by code. Elements
// without a record, and further elements with the same record, are left out. It takes 4 bytes an element,
// which are pooled if they are not many, and about 3 ns an element.
func (d *Lists) Records() iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		n, records := d.Elements(), d.records.Len()
		kept := recordWork.Get().(*[]uint32)
		elements := append((*kept)[:0], make([]uint32, records+1)...) // indexed by record
		if *kept = elements; len(elements) <= keptRecords {
			defer recordWork.Put(kept)
		}
		if n > 0 {
			pages := *d.recordOf.directory.Load()
			for e := range n {
				if record := pages[e/pageLen][e%pageLen].Load(); int(record) < len(elements) { // other records are new
					elements[record] = uint32(e + 1)
				}
			}
		}
		for record := 0; record < records; {
			page := d.records.entries.page(record)
			for _, e := range elements[record+1 : min(record+pageLen, records)+1] {
				at := &page[record%pageLen]
				record++
				if e != 0 && !yield(e, d.records.valueAt(at)) {
					return
				}
			}
		}
	}
}
