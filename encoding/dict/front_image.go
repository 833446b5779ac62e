package dict

import (
	"math"
	"slices"

	"github.com/granarydb/granary/internal/fields"
)

// image adds the bytes in memory of the lists [lo, hi).
func (f *frontCoded) image(w *fields.Writer, lo, hi int) {
	for lo < hi {
		first := *f.places.at(lo)
		last, block := first, first>>16
		for lo < hi && *f.places.at(lo)>>16 == block {
			last = *f.places.at(lo)
			lo++
		}
		end := last&math.MaxUint16 + uint32(entryLen(f.bytes.from(block, last&math.MaxUint16)))
		w.Raw(f.bytes.from(block, 0)[first&math.MaxUint16 : end])
	}
}

// fit returns the least end, at most hi, for which the lists [lo, end) take `bytes` bytes or more in an image. It
// also returns the difference, which is above 0 only at hi.
func (f *frontCoded) fit(lo, hi, bytes int) (to, left int) {
	for ; lo < hi && bytes > 0; lo++ {
		at := *f.places.at(lo)
		if next := lo + 1; next < hi && *f.places.at(next)>>16 == at>>16 {
			bytes -= int(*f.places.at(next) - at)
		} else {
			bytes -= entryLen(f.bytes.from(at>>16, at&math.MaxUint16))
		}
	}
	return lo, bytes
}

// entryLen returns the length in bytes of the list that begins at b.
func entryLen(b []byte) int {
	_, own, codes := opened(b)
	return len(b) - len(codes.bytes) + own*codes.width
}

// readImage checks the n lists that follow f's lists, and returns their bytes. A list has at most `most`
// codes, each at most `elements`.
func (f *frontCoded) readImage(r *fields.Reader, n, elements, most int) []byte {
	all, before := r.Peek(), len(f.last)
	next := arena{n: f.bytes.n, room: f.bytes.room}
	for i := int(f.n.Load()); n > 0 && r.Err() == nil; i, n = i+1, n-1 {
		left := r.Left()
		shared := int(r.Uint("shared", uint64(before)))
		head := r.Uint("own and width", uint64(most)<<widthBits|(1<<widthBits-1))
		own, width := int(head>>widthBits), int(head&(1<<widthBits-1))+1
		codes := narrow{r.Raw("codes", own*width), width}
		switch {
		case r.Err() != nil:
			return nil
		case shared > 0 && i%restart == 0:
			r.Failf("list %d shares codes and must be whole", i+1)
		case shared+own > most:
			r.Failf("list %d has %d codes, at most %d", i+1, shared+own, most)
		case next.n > math.MaxUint16:
			r.Failf("list %d has no place", i+1)
		}
		for k := range own {
			if code := codes.at(k); code == 0 || code > uint32(elements) {
				r.Failf("list %d has element %d of %d", i+1, code, elements)
			}
		}
		next.take(left - r.Left())
		before = shared + own
	}
	return all[:len(all)-r.Left()]
}

// addImage adds lists that readImage checked.
func (f *frontCoded) addImage(lists []byte) {
	n := int(f.n.Load())
	codes := uint64(0)
	for ; len(lists) > 0; n++ {
		shared, own, _ := opened(lists)
		entry := lists[:entryLen(lists)]
		block, offset := f.bytes.keep(entry)
		f.places.grow(n)
		*f.places.at(n) = block<<16 | offset
		codes += uint64(shared + own)
		lists = lists[len(entry):]
	}
	f.codes.Add(codes)
	f.n.Store(uint32(n))
	if n > 0 {
		f.last = f.appendReversed(f.last[:0], n-1)
		slices.Reverse(f.last)
	}
}
