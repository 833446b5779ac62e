package profile

import (
	"fmt"
	"slices"

	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// flat is a profile to insert, with the columns of its labels.
type flat struct {
	codec.Flat
	columns labelColumns
}

// reset empties f and keeps its memory.
func (f *flat) reset() {
	f.Reset()
	f.columns.reset()
}

// kind returns the kind of a profile. Without a default sample type the last one is shown
// first, as in go tool pprof.
func (f *flat) kind() kind {
	k := kind{Default: len(f.Types) - 1, Named: f.Preferred != ""}
	for i, t := range f.Types {
		typ := Type{f.Strings[t.Name], f.Strings[t.Unit], f.Strings[f.Period.Name], f.Strings[f.Period.Unit]}
		k.Types = append(k.Types, typ)
		if typ.Sample == f.Preferred && f.Preferred != "" {
			k.Default = i
		}
	}
	return k
}

// isEmpty reports whether a profile has no rows.
func (f *flat) isEmpty(zeros bool) bool {
	return len(f.Values) == 0 || !zeros && !slices.ContainsFunc(f.Values, func(v int64) bool { return v != 0 })
}

// check returns an error if the rows of a profile would exceed a limit, before any row is
// built (P5). It also assigns labels to columns.
func (f *flat) check() error {
	f.columns.reset()
	if err := f.CheckRecords(schema.MaxRecord, maxRecords); err != nil {
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
