package history

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/internal/names"
	"github.com/granarydb/granary/internal/tile"
)

// OpenImage returns a history that continues from the view whose AppendImage made the image, and that view.
// It answers like the view, refuses the same writes, and has the texts for the journals of later commits.
// The start comes from the image; other options may differ.
//
// An error wraps ErrImage, or comes from New or opts.Reserve. OpenImage checks everything that reading and
// writing rely on, so no bytes make these panic, and takes at most 64 times the image's memory. Only a
// checksum shows whether states equal the written states. It keeps none of the bytes. It costs 10 ns an
// interval, and 0.3 us an attribute.
func OpenImage(opts Options, image []byte) (*History, *View, error) {
	r := imageReader{Reader: fields.NewReader(image, ErrImage)}
	r.In("head")
	flags := r.Uint("flags", imageFlags)
	if paged := flags&imagePaged != 0; paged != (opts.Pages != nil) {
		r.Failf("tiles in pages: %v", paged)
	}
	opts.Start = int64(r.Int("start"))
	h, err := New(opts)
	if err != nil {
		return nil, nil, err
	}
	r.h, r.draft = h, h.draft()
	r.head(flags)
	lanes := r.Count("lanes", leastLane)
	for range lanes {
		h.newLane()
	}
	if err := r.attributes(); err != nil {
		return nil, nil, err
	}
	h.texts, r.codes = names.ReadImage(opts.Seed, &r.Reader)
	h.newEra()
	h.inPages.words = r.codes
	r.numbers()
	r.view = h.view()
	for i := 0; i < lanes && r.Err() == nil; i++ {
		r.lane(h.lanes[i], i)
	}
	if r.Left() > 0 {
		r.Failf("%d bytes are left", r.Left())
	}
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	h.numbers.floor = h.start
	d := r.draft
	d.changed, d.published, d.closing = h.lanes, true, h.closed
	d.Seal()
	h.busy.Store(opts.Pages != nil) // because the writer's starts are not known
	return h, r.view, nil
}

// imageReader reads an image.
type imageReader struct {
	fields.Reader
	h     *History
	draft *Draft
	view  *View
	used  []uint64    // slots by lane, from the attributes
	at    []Attribute // by place
	codes []uint64    // bit set of text codes

	// Of the lane being read:
	kinds  *[laneWidth]Kind
	fed    uint64
	last   [laneWidth]int64 // last end of each slot
	ends   uint64           // slots that have an end
	sealed int64            // last end of all tiles
	before bool             // there is a tile

	taken map[uint64]bool // places in pages
}

// leastLane is the smallest encoding of a lane, in bytes: masks, kinds, tiles and entries.
const leastLane = 3*8 + laneWidth + 2

func (r *imageReader) head(flags uint64) {
	h := r.h
	h.written, h.closed = flags&imageWritten != 0, flags&imageClosed != 0
	for _, x := range []*int64{&h.start, &h.last, &h.final, &h.barred} {
		*x = int64(r.Int("instant")) + h.opts.Start
	}
	switch {
	case !h.written && (h.closed || h.start != h.opts.Start):
		r.Failf("a history without instants is closed, or starts at %d", h.start)
	case !h.written:
		h.last, h.final, h.barred = 0, 0, 0
	case h.start < h.opts.Start || h.last < h.start,
		h.final > h.last, h.last > h.barred, uint64(h.barred)-uint64(h.final) > 1:
		r.Failf("a history from %d to %d, final up to %d, barred up to %d", h.start, h.last, h.final, h.barred)
	}
}

func (r *imageReader) attributes() error {
	r.In("attributes")
	h, n, last := r.h, r.Count("attributes", 3), int64(0)
	ahead := h.tree.Ahead(r.Reader, n)
	r.used, r.at = make([]uint64, len(h.lanes)), make([]Attribute, len(h.lanes)*laneWidth)
	for next := range uint32(n) {
		ahead.To(next)
		parent := next - uint32(r.Uint("parent", uint64(next)+1))
		name := r.Text("name", math.MaxInt32)
		place := r.Uint("place", math.MaxUint64)
		if r.Err() != nil {
			return nil
		}
		switch a, err := r.draft.Child(Attribute(parent), textOf(name)); {
		case err != nil && h.opts.Reserve == nil:
			r.Failf("%v", err)
			return nil
		case err != nil:
			return err
		case uint32(a) != next:
			r.Failf("attribute %d is there", a)
		}
		if place == 0 {
			continue
		}
		last += int64((place-1)>>1^-((place-1)&1)) + 1
		if last < 1 || last > int64(len(r.at)) || r.used[(last-1)/laneWidth]>>((last-1)%laneWidth)&1 != 0 {
			r.Failf("place %d of %d, or it is used", last, len(r.at))
			return nil
		}
		h.slots[next].Store(uint32(last))
		r.used[(last-1)/laneWidth] |= 1 << ((last - 1) % laneWidth)
		r.at[last-1] = Attribute(next)
	}
	return nil
}

// numbers reads the texts that have numbers in journals.
func (r *imageReader) numbers() {
	r.In("numbers")
	for n := r.Count("texts", 1); n > 0; n-- {
		code := r.Uint("code", math.MaxUint32)
		if !r.isText(KindBytes, code) {
			return
		}
		r.h.replayed = append(r.h.replayed, textOf(r.h.texts.At(uint32(code))))
	}
}

// isText reports whether code is a text of kind k. If not, it sets the error.
func (r *imageReader) isText(k Kind, code uint64) bool {
	ok := code/64 < uint64(len(r.codes)) && r.codes[code/64]>>(code%64)&1 != 0
	if ok && k == KindString {
		ok = String(textOf(r.h.texts.At(uint32(code)))).check() == nil
	}
	if !ok {
		r.Failf("text %d", code)
	}
	return ok && r.Err() == nil
}

// isWord checks a slot's word.
func (r *imageReader) isWord(slot int, word uint64) bool {
	switch k := r.kinds[slot]; {
	case k >= KindString:
		return r.isText(k, word)
	case k == KindNull, k == KindBool && word > 1:
		r.Failf("word %d of kind %v", word, k)
		return false
	}
	return true
}

func (r *imageReader) mask(what string) uint64 {
	if b := r.Raw(what, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *imageReader) lane(l *lane, number int) {
	r.In("lane")
	h, work := r.h, l.work
	used, fed, has := r.mask("used"), r.mask("fed"), r.mask("values")
	of := r.Raw("kinds", laneWidth)
	if used == 0 || used != r.used[number] || fed&^used != 0 || has&^(used&^fed) != 0 || has != 0 && h.closed || !h.written {
		r.Failf("slots %x of attributes %x, added %x, values %x", used, r.used[number], fed, has)
	}
	if r.Err() != nil {
		return
	}
	l.slots = uint8(bits.Len64(used))
	for slot, k := range of {
		if k >= kinds || k != 0 && used>>slot&1 == 0 {
			r.Failf("kind %d of slot %d", k, slot)
			return
		}
		l.setKind(uint(slot), Kind(k))
		l.kinded.Or(tile.One(k != 0) << slot)
	}
	l.fed.Store(fed)
	l.used.Store(used)
	r.kinds, r.fed, r.ends, r.before = &l.kinds, fed, 0, false
	now := new(ongoing)
	now.has.Store(has)
	for rest := has; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		word := r.Int("value")
		if !r.isWord(slot, word) {
			return
		}
		work.set(uint(slot), word, true)
		now.words[slot].Store(word)
	}
	if has != 0 {
		l.now.Store(now)
	}
	r.tiles(l, used)
	r.entries(l, used)
	r.goOn(l, used, number)
}

// leastTile is the smallest encoding of a tile, in bytes: its directory entry, with a place.
const leastTile = 1 + 8 + 1 + 4 + 2

func (r *imageReader) tiles(l *lane, used uint64) {
	h := r.h
	n, last := r.Count("tiles", leastTile), h.start
	if h.opts.Pages != nil && r.taken == nil {
		r.taken = map[uint64]bool{}
	}
	tiles := make([]tile.Ref, 0, n)
	for range n {
		ref := tile.Ref{Last: last + int64(r.Int("last end")), Mask: r.mask("mask"), N: uint16(r.Uint("entries", tile.MostEntries))}
		widths := r.Raw("widths", 4)
		if r.Err() != nil {
			return
		}
		ref.Widths = tile.Widths{Ends: widths[0], Code: widths[1], Word: widths[2], Flags: widths[3]}
		if ref.Mask == 0 || ref.Mask&^used != 0 || len(tiles) > 0 && ref.Last <= last || ref.Last > h.final || !r.view.isWhole(ref.Last) || ref.Ends-1 >= 64 ||
			ref.Code > 64 || ref.Word > 64 || ref.Flags > tile.Nulls|tile.Dictionary|tile.Wide {
			r.Failf("%d entries, layout %v, slots %x of %x, last end %d", ref.N, widths, ref.Mask, used, ref.Last)
			return
		}
		if r.place(&ref); r.Err() != nil {
			return
		}
		tiles = append(tiles, ref)
		last = ref.Last
		h.addPart(last)
	}
	next := (&sealed{}).with(tiles, nil)
	h.directory += int64(cap(next.tiles))*tile.RefSize + int64(cap(next.groups))*8
	l.sealed.Store(next)
}

// place reads a tile's bytes, or its place in a page, which is read when it is needed.
func (r *imageReader) place(ref *tile.Ref) {
	if pages := r.h.opts.Pages; pages != nil {
		page, at := r.Uint("page", math.MaxUint32), r.Uint("offset", tile.ChunkBytes)
		if r.Err() == nil && !pages.Put(ref, page, at, r.taken) {
			r.Failf("offset %d of page %d", at, page)
		}
		for rest := ref.Mask; rest != 0; rest &= rest - 1 {
			r.last[bits.TrailingZeros64(rest)] = ref.Last // an upper bound
		}
		r.ends |= ref.Mask
		r.before, r.sealed = true, ref.Last
		return
	}
	data := r.Raw("tile", int(r.Uint("size", tile.ChunkBytes-tile.Slack)))
	if r.Err() != nil {
		return
	}
	if len(data) != ref.Size(data) {
		r.Failf("%d entries in %d bytes", ref.N, len(data))
		return
	}
	copy(r.h.chunks.Alloc(ref, len(data)), data)
	r.tile(ref)
}

// tile checks a tile: its entries agree with its header, each slot's ends rise and are later than all ends
// in earlier tiles, and words stand for values. It records each slot's last end.
func (r *imageReader) tile(ref *tile.Ref) {
	var tl tile.Tile
	tl.Open(ref)
	c, words := tl.Codes(), uint64(binary.LittleEndian.Uint16(tl.In[tl.Head+tile.HeadWords:]))
	latest, hi := int64(math.MinInt64), 0
	for rest, rank := tl.Mask, 0; rest != 0; rest, rank = rest&(rest-1), rank+1 {
		slot, lo := bits.TrailingZeros64(rest), hi
		if hi += tl.Count(rank); hi == lo || hi > tl.N {
			r.Failf("entries %d to %d of %d", lo, hi, tl.N)
			return
		}
		before := r.sealed
		for i := lo; i < hi; i++ {
			o := tl.Ordinal(i)
			end := tl.Base + int64(o)
			if o > tl.Span || end > ref.Last || end < r.h.opts.Start || (r.before || i > lo) && end <= before {
				r.Failf("entry %d ends at %d", i, end)
				return
			}
			code, null := c.In.UnpackWide(c.At, i, c.Width), false
			if c.Flags&tile.Nulls != 0 {
				null = code == 0
				code--
			}
			if !null && c.Flags&tile.Dictionary != 0 && code >= words {
				r.Failf("entry %d has word %d of %d", i, code, words)
				return
			}
			if word, null := c.Value(i); !null && !r.isWord(slot, word) {
				return
			}
			before = end
		}
		r.last[slot] = before
		latest = max(latest, before)
	}
	if r.ends |= tl.Mask; hi != tl.N || latest != ref.Last {
		r.Failf("%d of %d entries, the latest end is %d, not %d", hi, tl.N, latest, ref.Last)
	}
	r.before, r.sealed = true, ref.Last
}

// entries reads a lane's unsealed entries.
func (r *imageReader) entries(l *lane, used uint64) {
	last := r.h.start
	for n := r.Count("entries", 2); n > 0; n-- {
		last += int64(r.Int("end"))
		at := r.Raw("slot", 1)
		if at == nil {
			return
		}
		slot, word := uint(at[0]&^tile.Null), uint64(0)
		isNull := at[0] >= tile.Null
		if slot >= laneWidth || used>>slot&1 == 0 || r.before && last <= r.sealed || r.ends>>slot&1 != 0 && last <= r.last[slot] ||
			last > r.h.final || last < r.h.opts.Start || r.view.isOpen(l, slot, last) {
			r.Failf("slot %d ends at %d", slot, last)
			return
		}
		if !isNull {
			if word = r.Int("word"); !r.isWord(int(slot), word) {
				return
			}
		}
		l.work.add(last, word, slot, isNull)
		r.last[slot] = last
		r.ends |= 1 << slot
	}
	if work := l.work; work.entries.n > 0 {
		s := l.sealed.Load()
		l.sealed.Store(&sealed{s.tiles, s.groups, newBuffer(work.entries)})
	}
}

// goOn reads the starts of ongoing intervals that do not follow from an end, and makes a lane's writer
// state.
func (r *imageReader) goOn(l *lane, used uint64, number int) {
	h, work := r.h, l.work
	for rest := used; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		at := &work.slots[slot]
		switch bit := uint64(1) << slot; {
		case r.ends&bit == 0:
			at.start = h.opts.Start + int64(r.Int("start"))
			if at.start < h.opts.Start || at.start > h.start {
				r.Failf("slot %d starts at %d, and the history at %d", slot, at.start, h.start)
				return
			}
		case r.last[slot] == math.MaxInt64:
			work.ended |= bit
		default:
			at.start = r.last[slot] + 1
		}
		k := l.kinds[slot]
		if fed := r.fed &^ work.ended; fed>>slot&1 != 0 && k != KindBytes {
			work.plain |= 1 << slot
			at.word = uint64(k)
		}
		f := h.shapes.lane(h.shapes.Of[r.at[number*laneWidth+slot]])
		if f.n < rareShape {
			h.shapes.mixed[k] = number
		} else {
			f.lane = number
		}
		f.n++
	}
	if h.start > h.opts.Start {
		l.starts = new([laneWidth]int64)
		for slot := range l.starts {
			l.starts[slot] = h.opts.Start
			if used>>slot&1 != 0 {
				l.starts[slot] = work.slots[slot].start
			}
		}
	}
}
