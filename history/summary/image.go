package summary

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/internal/tile"
)

// ErrImage is returned by Open for bytes that are not an image of nodes, or belong to another history.
var ErrImage = errors.New("invalid image of summaries")

// imageVersion is the image format. An image with another version must be made again.
const imageVersion = 1

// AppendImage appends the nodes to dst, for Open with the same view or a view from its image. It takes less
// than Size, because only the lowest nodes are written and the others are made from them.
// docs/format/history.md draws the bytes.
func (p *Pyramid) AppendImage(dst []byte) []byte {
	w := fields.Writer{Data: dst}
	w.Uint(imageVersion)
	some := 0
	for _, l := range p.lanes {
		if l != nil {
			some++
		}
	}
	w.Uint(uint64(some))
	before := -1
	for i, l := range p.lanes {
		if l != nil {
			w.Uint(uint64(i - before - 1))
			p.appendLane(&w, l)
			before = i
		}
	}
	return w.Data
}

// appendLane appends a lane's nodes.
func (p *Pyramid) appendLane(w *fields.Writer, l *lane) {
	w.Uint(uint64(l.tiles - l.base))
	has := uint64(0)
	for slot, c := range l.columns {
		w.Int(uint64(int64(l.left[slot])))
		if c != nil && c.from(p.view.Start()) < c.len() {
			has |= 1 << slot
		}
	}
	w.Data = binary.LittleEndian.AppendUint64(w.Data, has)
	for rest := has; rest != 0; rest &= rest - 1 {
		c := l.columns[slotOf(rest)]
		gone := c.from(p.view.Start())
		start, behind := c.start(gone), 0
		w.Uint(uint64(start) - uint64(p.view.Start()))
		w.Uint(uint64(c.len() - gone))
		var n node
		for k := gone; k < c.len(); k++ {
			w.Uint(uint64(c.ends[k]) - uint64(start))
			w.Uint(uint64(int(c.tiles[k]) - l.base - behind))
			c.read(0, k, &n)
			w.Data = n.append(w.Data, c.kind)
			start, behind = c.ends[k]+1, int(c.tiles[k])-l.base
		}
	}
}

// Open returns a view's pyramid from the image that AppendImage made. It costs 0.2 us a node, and reads no
// tile. It keeps none of the bytes.
//
// The error is ErrImage. Open checks that nodes cover tiles of the view, in order, with times that add up
// to their length. So no bytes make a query panic, and memory is at most 64 times the image. Only a
// checksum of both shows whether the nodes belong to the view.
func Open(v *history.View, image []byte) (*Pyramid, error) {
	r := imageReader{Reader: fields.NewReader(image, ErrImage), view: v}
	r.In("summaries")
	if version := r.Uint("version", math.MaxUint32); version != imageVersion && r.Err() == nil {
		return nil, fmt.Errorf("%w: version %d, not %d", ErrImage, version, imageVersion)
	}
	p := Bare(v)
	p.lanes = make([]*lane, v.Lanes())
	at := -1
	for n := r.Count("lanes", leastLane); n > 0 && r.Err() == nil; n-- {
		step := r.Uint("lane", uint64(len(p.lanes)))
		if at += 1 + int(step); at >= len(p.lanes) {
			r.Failf("lane %d of %d", at, len(p.lanes))
			break
		}
		p.lanes[at] = r.lane(at)
	}
	if r.Left() > 0 {
		r.Failf("%d bytes are left", r.Left())
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// leastLane is the smallest encoding of a lane, in bytes: the rest of each slot, and the slots with nodes.
const leastLane = 2 + tile.Slots + 8

// imageReader reads an image.
type imageReader struct {
	fields.Reader
	view *history.View
	node node
}

func (r *imageReader) lane(number int) *lane {
	tiles, kinds := r.view.Tiles(number), r.view.Kinds(number)
	if n := r.Uint("tiles", math.MaxUint32); int(n) != len(tiles) {
		r.Failf("%d tiles of lane %d, which has %d", n, number, len(tiles))
	}
	l := new(lane)
	for slot := range l.left {
		left := int64(r.Int("left"))
		if l.left[slot] = int32(left); int64(l.left[slot]) != left {
			r.Failf("%d bytes are left of a node", left)
		}
	}
	mask := r.Raw("slots", 8)
	if r.Err() != nil {
		return nil
	}
	for l.tiles < len(tiles) {
		l.tiles++
		l.group(tiles)
	}
	for rest := binary.LittleEndian.Uint64(mask); rest != 0 && r.Err() == nil; rest &= rest - 1 {
		l.columns[slotOf(rest)] = r.column(tiles, kinds[slotOf(rest)])
	}
	return l
}

// column reads an attribute's nodes.
func (r *imageReader) column(tiles []tile.Ref, kind history.Kind) *column {
	v := r.view
	start := uint64(v.Start()) + r.Uint("begin", math.MaxUint64)
	c := &column{kind: kind, begin: int64(start)}
	behind := uint64(0)
	n := r.Count("nodes", leastNode)
	if n == 0 {
		r.Failf("no node")
	}
	for ; n > 0; n-- {
		span := r.Uint("end", math.MaxUint64)
		behind += r.Uint("tile", uint64(len(tiles))-behind)
		end := start + span
		if r.Err() == nil && (int64(start) < v.Start() || int64(end) < int64(start) || behind == 0 || int64(end) > tiles[behind-1].Last) {
			r.Failf("a node from %d to %d before tile %d", int64(start), int64(end), behind)
		}
		if r.read(kind, span+1); r.Err() != nil {
			return nil
		}
		c.add(&r.node, int64(end), int(behind))
		start = end + 1
	}
	return c
}

// leastNode is the smallest encoding of a node, in bytes: its end and tile, and three numbers.
const leastNode = 5

// read reads a node that covers `instants` instants.
func (r *imageReader) read(kind history.Kind, instants uint64) {
	n := &r.node
	n.reset()
	count := r.Uint("intervals", math.MaxUint64)
	n.count, n.many = count/2, count%2 == 1
	n.null = r.Uint("instants of null", math.MaxUint64)
	if states := r.Uint("states", math.MaxUint64); n.many {
		n.time = states
		r.numbers(kind)
	} else if r.Err() == nil {
		if states > mostStates {
			r.Failf("%d states", states)
			return
		}
		for range states {
			s := state{word: r.word(kind)}
			s.time = r.Uint("instants", math.MaxUint64)
			n.time += s.time
			n.states = append(n.states, s)
		}
	}
	if kind == history.KindNull && (n.many || len(n.states) > 0) || n.count == 0 || n.null+n.time != instants || r.overflows() {
		r.Failf("%d intervals of %d instants, not %d", n.count, n.null+n.time, instants)
	}
}

// overflows reports whether a node's times are more than 2^64 instants together. All of time is 2^64, which
// counts as 0.
func (r *imageReader) overflows() bool {
	n := &r.node
	sum, carries := n.null, uint64(0)
	add := func(time uint64) {
		var carry uint64
		sum, carry = bits.Add64(sum, time, 0)
		carries += carry
	}
	if n.many {
		add(n.time)
	}
	for _, s := range n.states {
		add(s.time)
	}
	return carries > 1 || carries == 1 && sum != 0
}

// word reads a value's word.
func (r *imageReader) word(kind history.Kind) (word uint64) {
	switch kind {
	case history.KindFloat:
		if b := r.Raw("float", 8); b != nil {
			word = binary.LittleEndian.Uint64(b)
		}
	case history.KindInt:
		word = r.Int("int")
	case history.KindBool:
		word = r.Uint("bool", 1)
	case history.KindString, history.KindBytes:
		word = r.Uint("text", math.MaxUint32)
	case history.KindNull:
	}
	return word
}

// numbers reads the numbers in a node with many states.
func (r *imageReader) numbers(kind history.Kind) {
	if !isNumber(kind) {
		return
	}
	n := &r.node.numbers
	n.some, n.min, n.max = true, r.word(kind), r.word(kind)
	odd := byte(0)
	if kind == history.KindFloat {
		if b := r.Raw("sum", 9); b != nil {
			n.sum.hi, odd = binary.LittleEndian.Uint64(b), b[8]
		}
		if n.sum.odd = odd; odd > oddNaN|oddPlus|oddMinus {
			r.Failf("flags %x of a sum", odd)
		}
	} else {
		n.sum.hi = r.Int("sum")
	}
	if b := r.Raw("sum", 8); b != nil {
		n.sum.lo = binary.LittleEndian.Uint64(b)
	}
}
