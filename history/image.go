package history

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/internal/names"
	"github.com/granarydb/granary/internal/tile"
)

// AppendImage appends the view's image to dst: what WriteImage writes.
func (v *View) AppendImage(dst []byte) []byte {
	_ = v.WriteImage(func(part []byte) error { // it has no error of its own
		dst = append(dst, part...)
		return nil
	})
	return dst
}

// imagePart is the size of the parts of an image, besides names and texts.
const imagePart = 64 << 10

// WriteImage gives the view's history to put in parts, for OpenImage: names, texts, tiles as they are, unsealed
// entries, and ongoing values. put must not keep a part. It may run beside the writer. Names, texts and values from
// later commits are not included, but an attribute in the view can already have the place and kind that a later commit
// gave it. The image takes about the bytes of the tiles and names. It costs a copy of them, a walk over the tiles
// before, 0.1 us an attribute, and memory for the texts. The error is that of put. docs/format/history.md draws the
// bytes.
func (v *View) WriteImage(put func(part []byte) error) error {
	w := imageWriter{view: v, used: make([]uint64, len(v.lanes)), places: make([]uint32, v.Len())}
	texts := v.texts
	if texts == nil {
		texts = new(names.Texts) // an empty history's view has none
	}
	if v.paged {
		v.history.chunks.Settle()
		w.marks.words = slices.Clone(v.history.inPages.words)
	}
	w.marks.grow(texts.Most())
	w.findPlaces()
	w.lanes() // to find the texts, which come before
	var numbered []uint32
	if v.numbered != nil {
		numbered = *v.numbered
	}
	for _, code := range numbered {
		w.marks.add(uint64(code))
	}
	w.put = put
	w.head()
	w.attributes()
	texts.WriteImage(&w.Writer, w.marks.words)
	w.Uint(uint64(len(numbered)))
	for _, code := range numbered {
		w.Uint(uint64(code))
		w.next(imagePart)
	}
	w.lanes()
	w.next(0)
	return w.err
}

// imageWriter writes a view's image.
type imageWriter struct {
	fields.Writer
	put    func([]byte) error // nil drops the bytes
	err    error              // of put
	view   *View
	places []uint32 // by attribute, from 1; 0: none
	used   []uint64 // their slots, by lane
	marks  textMarks
}

// next gives away what is written, if it is more than `most` bytes.
func (w *imageWriter) next(most int) {
	if len(w.Data) <= most {
		return
	}
	if w.put != nil && w.err == nil {
		w.err = w.put(w.Data)
	}
	w.Data = w.Data[:0]
}

// Flags of an image.
const (
	imageWritten = 1 << iota
	imageClosed
	imagePaged
	imageFlags = 1<<iota - 1
)

// findPlaces finds the attributes' places. It first looks up which places are final.
func (w *imageWriter) findPlaces() {
	final := make([]uint64, len(w.used))
	for i, l := range w.view.lanes {
		final[i] = l.used.Load()
	}
	for a := range w.places {
		pos := w.view.pos(Attribute(a))
		if lane, bit := (pos-1)/laneWidth, uint64(1)<<((pos-1)%laneWidth); pos > 0 && final[lane]&bit != 0 {
			w.places[a] = pos
			w.used[lane] |= bit
		}
	}
}

func (w *imageWriter) head() {
	v := w.view
	w.Uint(tile.One(v.written)*imageWritten + tile.One(v.closed)*imageClosed + tile.One(v.paged)*imagePaged)
	w.Int(uint64(v.history.opts.Start))
	for _, x := range []int64{v.start, v.end, v.final, v.barred} {
		w.Int(uint64(x - v.history.opts.Start))
	}
	w.Uint(uint64(len(v.lanes)))
}

func (w *imageWriter) attributes() {
	w.Uint(uint64(w.view.Len()))
	last := uint32(0)
	for a := range Attribute(w.view.Len()) {
		parent, _ := w.view.Parent(a) // a is in the view
		name, _ := w.view.Name(a)
		w.Uint(uint64(uint32(a) - uint32(parent)))
		w.Text(name)
		pos := w.places[a]
		if pos == 0 {
			w.Uint(0)
			continue
		}
		w.Uint(1 + fields.Zigzag(uint64(int64(pos)-int64(last)-1)))
		last = pos
		w.next(imagePart)
	}
}

// lanes writes all lanes, and marks their texts.
func (w *imageWriter) lanes() {
	for i := range w.view.lanes {
		w.lane(i, w.used[i])
		w.next(imagePart)
	}
	if w.put == nil {
		w.next(0)
	}
}

// lane writes a lane. used marks the slots in use.
func (w *imageWriter) lane(number int, used uint64) {
	l := w.view.lanes[number]
	fed, kinded, texts := l.fed.Load()&used, l.kinded.Load()&used, uint64(0)
	var kinds [laneWidth]byte
	for rest := kinded; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		kinds[slot] = byte(l.kinds[slot])
		texts |= tile.One(l.kinds[slot] >= KindString) << slot
	}
	has := uint64(0)
	var words [laneWidth]uint64
	for rest := used &^ fed; rest != 0 && !w.view.closed; rest &= rest - 1 {
		var f found
		slot := bits.TrailingZeros64(rest)
		if w.view.paged { // there is no writer, and no tile need be read
			f.word, f.null = l.ongoing(uint(slot))
		} else {
			l.find(&f, uint(slot), w.view.end, w.view.start)
		}
		if !f.null {
			has |= 1 << slot
			words[slot] = f.word
		}
	}
	for _, mask := range []uint64{used, fed, has} {
		w.Data = binary.LittleEndian.AppendUint64(w.Data, mask)
	}
	w.Raw(kinds[:])
	for rest := has; rest != 0; rest &= rest - 1 {
		w.word(words[bits.TrailingZeros64(rest)], texts>>bits.TrailingZeros64(rest)&1 != 0)
	}
	whole, entries := w.view.Lane(number)
	ends := w.tiles(whole, texts)
	w.Uint(uint64(len(entries.At)))
	last := w.view.start
	for i, at := range entries.At {
		w.Int(uint64(at.End - last))
		w.Raw(entries.Slots[i : i+1])
		if slot := entries.Slots[i]; slot < tile.Null {
			w.word(at.Word, texts>>slot&1 != 0)
		}
		last = at.End
		ends |= 1 << (entries.Slots[i] &^ tile.Null)
	}
	for rest := used &^ ends; rest != 0; rest &= rest - 1 {
		start := w.view.history.opts.Start
		if l.starts != nil {
			start = l.starts[bits.TrailingZeros64(rest)]
		}
		w.Int(uint64(start - w.view.history.opts.Start))
	}
}

func (w *imageWriter) word(word uint64, isText bool) {
	if w.Int(word); isText {
		w.marks.add(word)
	}
}

// tiles writes tiles, and returns the slots that have an end in them.
func (w *imageWriter) tiles(tiles []tile.Ref, texts uint64) (ends uint64) {
	w.Uint(uint64(len(tiles)))
	last := w.view.start
	for i := range tiles {
		r := &tiles[i]
		w.Int(uint64(r.Last - last))
		w.Data = binary.LittleEndian.AppendUint64(w.Data, r.Mask)
		w.Uint(uint64(r.N))
		w.Raw([]byte{r.Ends, r.Code, r.Word, r.Flags &^ tile.Apart})
		if w.view.paged {
			page, at := r.Place()
			w.Uint(uint64(page))
			w.Uint(uint64(at))
		} else {
			w.tile(r, texts)
		}
		ends |= r.Mask
		last = r.Last
		w.next(imagePart)
	}
	return ends
}

func (w *imageWriter) tile(r *tile.Ref, texts uint64) {
	var tl tile.Tile
	tl.Open(r)
	size := tl.Size()
	w.Uint(uint64(size))
	w.Raw(tl.In[tl.Head : tl.Head+size])
	if r.Mask&texts != 0 {
		w.marks.tile(r, texts)
	}
}
