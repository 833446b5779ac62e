package entries

import (
	"math"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/fields"
)

// UnitsEntry returns the body of an EntryUnits.
func UnitsEntry(table int, c catalog.UnitsChange) []byte {
	var w fields.Writer
	w.Uint(uint64(table))
	for _, places := range [][]catalog.UnitPlace{c.Seal, c.Drop} {
		w.Uint(uint64(len(places)))
		for _, u := range places {
			w.Int(uint64(u.Start))
			w.Uint(u.ID)
		}
	}
	return w.Data
}

// readUnits reads the body of an EntryUnits.
func readUnits(body []byte) (c UnitsContents, err error) {
	r := fields.NewReader(body, ErrEntry)
	r.In("units")
	c.Table = int(r.Uint("table", math.MaxInt32))
	for _, places := range []*[]catalog.UnitPlace{&c.Change.Seal, &c.Change.Drop} {
		for range r.Count("units", 2) {
			start := int64(r.Int("start"))
			*places = append(*places, catalog.UnitPlace{Start: start, ID: r.Uint("id", math.MaxInt64)})
		}
	}
	if r.Left() > 0 {
		r.Failf("%d bytes are left", r.Left())
	}
	return c, r.Err()
}
