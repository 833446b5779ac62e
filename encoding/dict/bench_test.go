package dict

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
)

func BenchmarkValues(b *testing.B) {
	values := make([][]byte, benchValues)
	for i := range values {
		values[i] = fmt.Appendf(nil, "pod-%08x-%05d", i*2654435761, i)
	}
	full := NewValues(1)
	for _, v := range values {
		if _, err := full.Intern(v); err != nil {
			b.Fatal(err)
		}
	}
	internAll := func(d *Values) {
		for _, v := range values {
			code, _ := d.Intern(v)
			benchSink += uint64(code)
		}
	}
	b.Run("op=Intern/hit", func(b *testing.B) {
		perValue(b, benchValues, func() { internAll(full) })
	})
	b.Run("op=Intern/miss", func(b *testing.B) {
		perValue(b, benchValues, func() { internAll(NewValues(1)) })
		b.ReportMetric(float64(full.Size())/benchValues, "B/value")
	})
	b.Run("op=Value", func(b *testing.B) {
		perValue(b, benchValues, func() {
			for code := range uint32(benchValues) {
				benchSink += uint64(len(full.Value(code + 1)))
			}
		})
	})
}

func BenchmarkLists(b *testing.B) {
	const depth, batch = 20, 500
	lists := make([][]uuid.UUID, 20*batch)
	codes := make([][]uint32, len(lists))
	full := NewLists(1)
	for i := range lists {
		lists[i] = stackOf(i*7919, depth)
	}
	for i, code := range mustLists(b, full, lists) {
		codes[i] = full.List(nil, code)
	}
	var out []uint32
	inBatches := func(intern func(lo, hi int)) func() {
		return func() {
			for lo := 0; lo < len(lists); lo += batch {
				intern(lo, lo+batch)
			}
		}
	}
	b.Run("op=InternLists/hit", func(b *testing.B) {
		perValue(b, len(lists), inBatches(func(lo, hi int) { out, _ = full.InternLists(out[:0], lists[lo:hi]) }))
	})
	b.Run("op=InternCodes/hit", func(b *testing.B) {
		perValue(b, len(lists), inBatches(func(lo, hi int) { out, _ = full.InternCodes(out[:0], codes[lo:hi]) }))
	})
	b.Run("op=InternLists/miss", func(b *testing.B) {
		var d *Lists
		perValue(b, len(lists), func() {
			d = NewLists(1)
			inBatches(func(lo, hi int) { out, _ = d.InternLists(out[:0], lists[lo:hi]) })()
		})
		bytes, _ := d.Size()
		b.ReportMetric(float64(bytes)/float64(len(lists)), "B/list")
	})
	b.Run("op=List", func(b *testing.B) {
		perValue(b, len(lists), func() {
			for code := range uint32(len(lists)) {
				out = full.List(out[:0], code+1)
			}
		})
	})
}
