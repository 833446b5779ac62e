package profile

import (
	"fmt"

	"github.com/granarydb/granary/schema"
)

// check returns an error if the rows of a profile would exceed a limit, before any row is
// built (P5). It also assigns labels to columns.
func (f *flat) check() error {
	f.columns.reset()
	if err := f.checkRecords(); err != nil {
		return err
	}
	bytes, err := f.placeLabels()
	if err != nil {
		return err
	}
	rows := len(f.Samples) * len(f.Types)
	for _, c := range []struct {
		what       string
		have, most int
	}{
		{"bytes of labels", bytes * len(f.Types), maxLabelBytes},
		{"label values (labels times rows)", len(f.columns.list) * rows, maxLabelCells},
	} {
		if c.have > c.most {
			return fmt.Errorf("%w: %d %s, at most %d", ErrTooLarge, c.have, c.what, c.most)
		}
	}
	return nil
}

// checkRecords bounds the records of locations.
func (f *flat) checkRecords() error {
	all := 0
	for i := range f.Locations[1:] {
		record := 64
		for _, ln := range f.LinesOf(uint32(i + 1)) {
			fn := &f.Functions[ln.Function]
			record += 32 + len(f.Strings[fn.Name]) + len(f.Strings[fn.SystemName]) + len(f.Strings[fn.File])
		}
		if record > schema.MaxRecord {
			return fmt.Errorf("%w: the record of the location at %#x has %d bytes, at most %d", ErrTooLarge, f.Locations[i+1].Address, record, schema.MaxRecord)
		}
		if all += record; all > maxRecords {
			return fmt.Errorf("%w: more than %d bytes of location records", ErrTooLarge, maxRecords)
		}
	}
	return nil
}
