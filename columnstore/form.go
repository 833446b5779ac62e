package columnstore

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Form is how values that repeat lie in Arrow records.
type Form = arrowconv.Form

// The forms of records. Which Arrow types a column has in each is in package arrowconv;
// it follows from the schema of the table, so all records of a scan have one schema.
const (
	// Dictionary has strings and lists as dictionaries: what most engines read.
	Dictionary = arrowconv.Dictionary
	// Native is Dictionary, with run-end encoding where values come in runs: in columns
	// of series, and in those whose encoding asks for runs (RLE, DictionaryRLE) but for
	// lists, and but for the columns of schema.Definition.Header: rows lie by stack, so
	// that times of profiles differ row by row.
	Native = arrowconv.Native
	// Plain has neither: a value in each row.
	Plain = arrowconv.Plain
)

// RecordSchema returns the schema of the records that a Scan with the same snapshot and
// options yields, of which there may be none. The errors are ErrQuery, ErrSnapshotClosed and
// ErrSnapshotExpired.
func (t *Table) RecordSchema(snap *Snapshot, opts ScanOptions) (*arrow.Schema, error) {
	state, err := snap.table(t)
	if err != nil {
		return nil, err
	}
	columns, err := t.concrete(state, opts.Columns)
	if err != nil {
		return nil, err
	}
	if !opts.Form.Known() {
		return nil, fmt.Errorf("%w: %v", ErrQuery, opts.Form)
	}
	return arrowconv.NewSchema(opts.Form, t.fields(columns, &opts)), nil
}

// fields returns the fields of records that concrete columns are.
func (t *Table) fields(columns []schema.Concrete, opts *ScanOptions) []arrowconv.Field {
	everything := opts.Limit == 0 && opts.Where.always()
	fields := make([]arrowconv.Field, len(columns))
	for i, c := range columns {
		def := t.schema.Columns()[c.Column]
		fields[i] = arrowconv.Field{
			Name: c.Name, Type: def.Type, Coded: def.Encoding.Coded(), Nullable: def.Nullable || def.Dynamic,
			Runs: t.comesInRuns(c.Column), Names: opts.Elements,
			Shared: everything && !opts.OwnDictionaries, Many: everything,
		}
	}
	return fields
}

// comesInRuns says whether a column is run-end encoded in the Native form.
func (t *Table) comesInRuns(column int) bool {
	def := t.schema.Columns()[column]
	switch {
	case t.schema.IsSeries(column):
		return true
	case def.Type == encoding.UUIDList || slices.Contains(t.schema.Header(), column):
		return false
	}
	return def.Encoding == encoding.RLE || def.Encoding == encoding.DictionaryRLE
}
