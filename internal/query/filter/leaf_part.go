package filter

import (
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

func (l *leaf) ofPart(p *granule.Part) truth {
	if l.series {
		columns := l.work.columns(p.Generation())
		if code, constant := p.Series().Constant(); constant {
			return truthOf(l.testSeries(p.Generation(), columns, uint32(code)))
		}
		if len(columns.Column(l.name).Values) == 0 {
			return truthOf(l.null) // no series has the label
		}
		return maybe
	}
	if all, ok := l.prune(p); ok {
		return truthOf(all)
	}
	column := p.Find(l.column, l.name)
	switch {
	case column == nil:
		return truthOf(l.null)
	case l.id == nil:
		return maybe
	}
	if rows, ok := l.rowsOfID(p, column); ok && len(rows) == 0 || !ok && !column.MayHave(l.idHash) {
		return no
	}
	return maybe
}

// among drops the granules, in place, that cannot have the leaf's only id: granules with just a base part
// that lacks the column or whose id filter excludes the id. It reads no rows. It is one tight loop over
// all granules, because most look-ups of a trace end here.
func (l *leaf) among(granules []*granule.Granule) []*granule.Granule {
	kept := granules[:0]
	near := 0 // the column's place in the previous part; parts usually have equal columns
	for _, g := range granules {
		if base, alone := g.Base(); alone {
			columns := base.Part.Columns()
			if near >= len(columns) || columns[near].Index != l.column || columns[near].Name != l.name {
				if base.Part.Find(l.column, l.name) == nil {
					continue
				}
				near = slices.IndexFunc(columns, func(c granule.Column) bool { return c.Index == l.column && c.Name == l.name })
			}
			if !columns[near].MayHave(l.idHash) {
				continue
			}
		}
		kept = append(kept, g)
	}
	return kept
}

// rowsOfID returns the rows in a part that have the leaf's only id. ok is false if the column cannot list
// them.
func (l *leaf) rowsOfID(p *granule.Part, column *encoding.Column) (rows []int32, ok bool) {
	if l.idPart != p {
		l.idPart = p
		l.idRows, l.idKnown = column.RowsOf(l.idRows[:0], *l.id)
	}
	return l.idRows, l.idKnown
}
