package files

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/google/uuid"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/schema"
)

// idPage is the bytes of ids that share a checksum: a query for an id reads no more. A block of a filter
// lies in one page, and so do the ids in a column without a filter.
const idPage = 4 << 10

// filedIDs is the place of an id column in a wide piece.
type filedIDs struct {
	granule.IDColumn
	sums []uint32 // checksums of the pages; empty if the ids of the column cannot be read alone
}

// Page names the bytes that decide whether a granule can have an id.
type Page struct {
	Granule int
	At      int64 // in the file
	ids     *filedIDs
	piece   disk.Piece
	from    int // offset in the place
	id      uuid.UUID
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendIDs adds the place of an id column in a wide piece to the directory.
func appendIDs(directory *fields.Writer, c granule.IDColumn, wide []byte) {
	place := c.Place
	if !place.Filter && place.Size > idPage {
		place.Size = 0
	}
	directory.Text(c.Name)
	filter := uint64(0)
	if place.Filter {
		filter = 1
	}
	directory.Uint(uint64(place.From)/8<<1 | filter)
	directory.Uint(uint64(place.Size) / 8)
	for at := 0; at < place.Size; at += idPage {
		page := wide[place.From:][at:min(at+idPage, place.Size)]
		directory.Data = binary.LittleEndian.AppendUint32(directory.Data, crc32.Checksum(page, castagnoli))
	}
}

// wide reads the places of a granule's wide columns and of its id columns.
func (r *rowsReader) wide(g *filedGranule) {
	in := &r.in
	g.wide.Length = int64(in.Uint("wide bytes", math.MaxUint32))
	g.wide.Offset = g.narrow.Offset + g.narrow.Length
	if sum := in.Raw("CRC", 4); sum != nil {
		g.wide.CRC = binary.LittleEndian.Uint32(sum)
	}
	g.ids = make([]filedIDs, in.Count("columns of ids", 3))
	for i := range g.ids {
		in.In("ids")
		c := &g.ids[i]
		c.Name = string(in.Text("name", schema.MaxName))
		if at, ok := r.schema.Resolve(c.Name); in.Err() == nil && (!ok || !granule.IsWide(r.schema.Columns()[at])) {
			in.Failf("%q is no column of ids", c.Name)
		}
		from := in.Uint("from", math.MaxUint32)
		size := 8 * in.Uint("size", math.MaxUint32)
		c.Place.From, c.Place.Size, c.Place.Filter = int(from>>1*8), int(size), from&1 > 0
		switch p := c.Place; {
		case in.Err() != nil:
			return
		case int64(p.From)+int64(p.Size) > g.wide.Length, p.Filter && (p.Size == 0 || p.Size%64 > 0), !p.Filter && p.Size > idPage:
			in.Failf("%d bytes from %d on of %d are no place of ids", p.Size, p.From, g.wide.Length)
			return
		}
		sums := in.Raw("CRCs of pages", 4*((c.Place.Size+idPage-1)/idPage))
		for ; len(sums) > 0; sums = sums[4:] {
			c.sums = append(c.sums, binary.LittleEndian.Uint32(sums))
		}
		const self = 72
		r.rows.size += self + len(c.Name) + 4*cap(c.sums)
	}
}

// PageOf returns the page that decides whether the i-th granule can have id in a concrete column of plain
// UUIDs. If ask is false, nothing needs to be read, and may is the answer.
func (r *RowsFile) PageOf(i int, column string, id uuid.UUID) (page Page, ask, may bool) {
	g := &r.granules[i]
	if r.version < 2 || g.rows == 0 {
		return page, false, g.rows > 0
	}
	for k := range g.ids {
		c := &g.ids[k]
		switch {
		case c.Name != column:
			continue
		case len(c.sums) == 0:
			return page, false, true
		}
		from, _ := c.Place.Span(id)
		p := r.page(i, c, from/idPage)
		p.id = id
		return p, true, true
	}
	return page, false, false // no row has a value in the column
}

// page returns the n-th page of a column in the i-th granule.
func (r *RowsFile) page(i int, c *filedIDs, n int) Page {
	at := n * idPage
	p := disk.Piece{
		Offset: r.granules[i].wide.Offset + int64(c.Place.From+at), Length: int64(min(idPage, c.Place.Size-at)), CRC: c.sums[n],
	}
	return Page{Granule: i, At: p.Offset, ids: c, piece: p, from: at}
}

// ReadPage reads a page. The errors are as for Image.
func (p *Pieces) ReadPage(page Page) ([]byte, error) { return p.read(page.piece) }

// MayHave reports whether the granule of the page can have the id. data is the page.
func (p Page) MayHave(data []byte) bool {
	from, to := p.ids.Place.Span(p.id)
	return p.ids.Place.MayHave(data[from-p.from:to-p.from], p.id)
}

// checkPages compares the checksums of the pages in the wide piece of the i-th granule.
func (r *RowsFile) checkPages(i int, wide []byte) error {
	for k := range r.granules[i].ids {
		c := &r.granules[i].ids[k]
		for n := range c.sums {
			p := r.page(i, c, n).piece
			at := p.Offset - r.granules[i].wide.Offset
			if crc32.Checksum(wide[at:at+p.Length], castagnoli) != p.CRC {
				return &disk.DamagedError{File: r.name(), Offset: p.Offset, Reason: fmt.Sprintf("the checksum of %d bytes differs", p.Length)}
			}
		}
	}
	return nil
}
