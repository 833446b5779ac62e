package order

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/query/filter"
)

// maxRows is the greatest limit of FirstRows. FirstRows refuses greater limits, because it decodes each row
// separately, which takes microseconds.
const maxRows = 1 << 16

// FirstRows finds the first `limit` matching rows of an order, and yields them in order. Each selection has
// consecutive rows of the answer that are in one part and series and have ascending row numbers. Equal rows
// come as in an ordered scan: by granule, sorting key, and age of the part.
//
// FirstRows keeps the place and the ordered values of each row, and reads no other column. wide must be true
// if the caller reads a wide column of the selections (filter.NewChooser). FirstRows calls take with the
// bytes of each kept row before it allocates them, and with those of a sorting key just after. If take
// returns an error, the query ends with it. FirstRows also returns ErrQuery of package filter, ctx's error,
// and expiry of the snapshot.
func FirstRows(ctx context.Context, r *filter.Read, where filter.Expr, wide bool, by []By, limit int, take func(bytes int64) error) (iter.Seq[filter.Selection], error) {
	columns, err := newColumns(r.Schema, by)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxRows {
		return nil, fmt.Errorf("%w: limit %d: want 1 to %d with OrderBy", filter.ErrQuery, limit, maxRows)
	}
	f := &finder{read: r, order: columns, isTime: columns[0].Column == r.Schema.BucketColumn(), take: take}
	f.kept = NewFirst(limit, f.compare)
	wide = wide || slices.ContainsFunc(columns, func(c column) bool { return r.IsWide(c.Column) })
	if err := f.find(ctx, where, wide); err != nil {
		return nil, err
	}
	places := f.kept.Sorted()
	return func(yield func(filter.Selection) bool) { eachSelection(places, yield) }, f.err
}

// finder finds the first rows of an order.
type finder struct {
	read   *filter.Read
	order  []column
	isTime bool // the first column of the order is the time bucket's column
	take   func(bytes int64) error
	kept   *First[place]

	now            place   // the current row; its key begins with the value of row valueOf
	value, valueOf int     // the length of the value, and the row
	at             []int32 // row numbers of the selection; empty until they are needed
	lost           []byte  // key of the last row of this selection that was not kept
	err            error   // from comparisons
}

// place locates a row: bucket, granule, section, part and row number. It has the row's key.
type place struct {
	key     []byte
	granule int64 // in scan order: the bucket, and the granule in it
	section int32
	row     int32
	part    *granule.Part
	sorting []byte // the sorting key, computed on first use
}

const placeSize = 80

// find reads the granules, newest bucket first if the order is by descending time.
func (f *finder) find(ctx context.Context, where filter.Expr, wide bool) error {
	c, err := filter.NewChooser(ctx, f.read, where, wide)
	if err != nil {
		return err
	}
	defer c.Done()
	if f.read.State == nil {
		return nil
	}
	buckets := c.Buckets()
	for i := range buckets {
		if f.isTime && f.order[0].flip != 0 {
			i = len(buckets) - 1 - i
		}
		b := buckets[i]
		if f.isBeyond(f.read.State.TimesOf(b)) {
			continue
		}
		f.now.granule = int64(i)<<32 - 1
		for g, err := range c.Of(b) {
			f.now.granule++
			f.read.Yield("read/granule")
			if err := cmp.Or(err, ctx.Err(), f.read.Use.Err()); err != nil {
				return err
			}
			if err := f.addGranule(ctx, c, g); err != nil {
				return err
			}
		}
	}
	return cmp.Or(ctx.Err(), f.read.Use.Err())
}

func (f *finder) addGranule(ctx context.Context, c *filter.Chooser, g *granule.Granule) error {
	for section, slice := range c.Parts(g) {
		if f.now.section, f.now.part = int32(section), slice.Part; f.isBeyond(slice.Part.TimeRange()) {
			continue
		}
		s := c.Choose(slice)
		if c.Cancelled() {
			return ctx.Err()
		}
		if s.Rows == 0 {
			continue
		}
		if err := f.add(&s); err != nil {
			return err
		}
	}
	return nil
}

// isBeyond reports whether no row with a time in [first, last] can be kept.
func (f *finder) isBeyond(first, last int64) bool {
	if !f.isTime || !f.kept.IsFull() {
		return false
	}
	c := &f.order[0]
	if c.flip != 0 {
		first = last
	}
	word := []uint64{encoding.FromInt64(first)}
	Words(encoding.Int64, word)
	return word[0]^c.flip > binary.BigEndian.Uint64(f.kept.Last().key[1:])
}

// add considers the chosen rows of a part, which are ordered by sorting key. If a row loses against the last
// kept row, with an equal value in the only order column, later rows with this value lose too.
func (f *finder) add(s *filter.Selection) error {
	for i := range f.order {
		f.order[i].loaded = false
	}
	f.at, f.valueOf = f.at[:0], -1
	first, alone := &f.order[0], len(f.order) == 1
	first.load(s)
	lost := -1 // the previous row, if other rows with its value lose too
	f.lost = f.lost[:0]
	for row := 0; row < s.Rows; row++ {
		if f.kept.IsFull() {
			last := f.kept.Last().key
			if row = first.next(row, s.Rows, last, bytes.Equal(last, f.lost)); row == s.Rows {
				return nil
			}
			if lost >= 0 && !first.typ.Fixed() && first.same(row, lost) {
				continue
			}
		}
		won, byFirst, err := f.consider(s, row)
		if err != nil {
			return err
		}
		if lost = -1; !won && (byFirst || alone) {
			lost, f.lost = row, append(f.lost[:0], f.now.key...)
		}
	}
	return nil
}

// consider keeps a row of the selection if it is among the first so far. byFirst reports whether the first
// column alone ruled it out.
func (f *finder) consider(s *filter.Selection, row int) (won, byFirst bool, err error) {
	now, first := &f.now, &f.order[0]
	if f.valueOf < 0 || first.typ.Fixed() || !first.same(row, f.valueOf) {
		now.key = first.appendValue(now.key[:0], f.read.Schema, s.Part, row)
		f.value = len(now.key)
	}
	f.valueOf, now.key, now.sorting = row, now.key[:f.value], now.sorting[:0]
	if f.kept.IsFull() && bytes.Compare(now.key, f.kept.Last().key) > 0 {
		return false, true, nil
	}
	for i := range f.order[1:] {
		c := &f.order[1+i]
		c.load(s)
		now.key = c.appendValue(now.key, f.read.Schema, s.Part, row)
	}
	if len(f.at) == 0 {
		f.at = s.AppendRows(f.at)
	}
	now.row = f.at[row]
	if !f.kept.IsFull() {
		if err := f.take(placeSize + int64(len(now.key))); err != nil {
			return false, false, err
		}
		item := *now
		item.key, item.sorting = slices.Clone(now.key), nil
		f.kept.Push(item)
		return true, false, f.err
	}
	last := f.kept.Last()
	if f.compare(now, last) >= 0 || f.err != nil {
		return false, false, f.err
	}
	if len(now.key) > cap(last.key) {
		if err := f.take(int64(len(now.key))); err != nil {
			return false, false, err
		}
	}
	key, sorting := append(last.key[:0], now.key...), last.sorting[:0]
	*last = *now
	last.key, last.sorting = key, sorting
	f.kept.Sink()
	return true, false, f.err
}

// compare compares two rows. The order is total (O1).
func (f *finder) compare(x, y *place) int {
	if order := cmp.Or(bytes.Compare(x.key, y.key), cmp.Compare(x.granule, y.granule)); order != 0 || x.section == y.section {
		return cmp.Or(order, cmp.Compare(x.row, y.row))
	}
	return cmp.Or(bytes.Compare(f.sorting(x), f.sorting(y)), cmp.Compare(x.section, y.section))
}

func (f *finder) sorting(row *place) []byte {
	if len(row.sorting) > 0 {
		return row.sorting
	}
	had := cap(row.sorting)
	row.sorting = row.part.AppendKey(row.sorting, f.read.Schema, int(row.row))
	if err := f.take(int64(max(0, cap(row.sorting)-had))); err != nil {
		f.err = err
	}
	return row.sorting
}

// eachSelection yields the rows of places in order, as selections (FirstRows).
func eachSelection(places []place, yield func(filter.Selection) bool) {
	for len(places) > 0 {
		part, n := places[0].part, 1
		code := part.Series().At(int(places[0].row))
		rows := []int32{places[0].row}
		for ; n < len(places); n++ {
			next := &places[n]
			if next.part != part || next.row < places[n-1].row || part.Series().At(int(next.row)) != code {
				break
			}
			rows = append(rows, next.row)
		}
		if !yield(filter.SelectRows(part, uint32(code), rows)) {
			return
		}
		places = places[n:]
	}
}
