package peers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/kelindar/column"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// kelindar is a collection of github.com/kelindar/column: arrays with 16,384 rows a column, with bitmaps as
// filters. It has no dynamic columns, so a column is made at its first value. It has no order, no groups
// and no Arrow.
//
// Its ForEnum identifies a value by a 32-bit hash, which suits a few hundred labels and merges some of
// 200,000 stacks. Stacks are therefore numbered here and stored as numbers in a ForUint32 column. A merge
// adds to an array by number.
type kelindar struct {
	rows    *column.Collection
	columns map[string]encoding.Type // by name
	codes   map[string]uint32        // stack codes
	stacks  []string                 // by code
	scratch []byte
}

func openKelindar() (Store, error) {
	return &kelindar{rows: column.NewCollection(), columns: map[string]encoding.Type{}, codes: map[string]uint32{}}, nil
}

// Maintain implements Store.
func (k *kelindar) Maintain() error { return nil }

// Rest implements Store.
func (k *kelindar) Rest() error { return nil }

// Settle implements Store.
func (k *kelindar) Settle() error { return nil }

// Close implements Store.
func (k *kelindar) Close() error { return k.rows.Close() }

// Insert implements Store.
func (k *kelindar) Insert(b schema.Batch) error {
	for name, v := range b.Columns {
		if err := k.create(name, v.Type); err != nil {
			return err
		}
	}
	return k.rows.Query(func(txn *column.Txn) error {
		var row int
		var set []func()
		for name, v := range b.Columns {
			set = append(set, k.setter(txn, name, v, &row))
		}
		for row = range b.Rows {
			_, err := txn.Insert(func(column.Row) error {
				for _, f := range set {
					f()
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// create makes a column unless it exists.
func (k *kelindar) create(name string, t encoding.Type) error {
	if _, ok := k.columns[name]; ok {
		return nil
	}
	k.columns[name] = t
	switch t {
	case encoding.String:
		return k.rows.CreateColumn(name, column.ForEnum())
	case encoding.Int64:
		return k.rows.CreateColumn(name, column.ForInt64())
	case encoding.UUIDList:
		return k.rows.CreateColumn(name, column.ForUint32())
	case encoding.UUID: // trace ids are many: an enum would merge some of them
		return k.rows.CreateColumn(name, column.ForString())
	}
	return fmt.Errorf("column %s: type %v is not a type of profiles", name, t)
}

// setter returns a function that sets a column in the row being inserted.
func (k *kelindar) setter(txn *column.Txn, name string, v encoding.Vector, row *int) func() {
	at := func() int {
		if v.Len() == 1 {
			return 0
		}
		return *row
	}
	switch v.Type {
	case encoding.String:
		to := txn.Enum(name)
		return func() {
			if value := v.Strings[at()]; value != "" {
				to.Set(value)
			}
		}
	case encoding.UUIDList:
		to := txn.Uint32(name)
		return func() { to.Set(k.code(v.UUIDLists[at()])) }
	case encoding.UUID:
		to := txn.String(name)
		return func() {
			if i := at(); !v.Null(i) {
				to.Set(string(v.UUIDs[i][:]))
			}
		}
	default:
		to := txn.Int64(name)
		return func() {
			if i := at(); !v.Null(i) {
				to.Set(v.Int64s[i])
			}
		}
	}
}

func (k *kelindar) code(stack []uuid.UUID) uint32 {
	k.scratch = StackBytes(k.scratch[:0], stack)
	code, ok := k.codes[string(k.scratch)]
	if !ok {
		code = uint32(len(k.stacks))
		k.stacks = append(k.stacks, string(k.scratch))
		k.codes[k.stacks[code]] = code
	}
	return code
}

// chosen calls f in a transaction narrowed to the rows that match all terms. Each term tests only the rows
// that the previous terms left.
func (k *kelindar) chosen(where []Term, f func(txn *column.Txn) error) error {
	return k.rows.Query(func(txn *column.Txn) error {
		for _, t := range where {
			switch {
			case t.Pattern != nil:
				txn.WithString(t.Column, t.Pattern.MatchString)
			case t.Column == profile.ColumnTimestamp:
				txn.WithInt(t.Column, func(v int64) bool { return v == t.Number })
			case t.Column == profile.ColumnTraceID:
				txn.WithString(t.Column, func(v string) bool { return v == string(t.ID[:]) })
			default:
				txn.WithString(t.Column, func(v string) bool { return v == t.Text })
			}
		}
		return f(txn)
	})
}

// Merge implements Store.
func (k *kelindar) Merge(where []Term, each func(stack []byte, sum int64)) error {
	sums, seen := make([]int64, len(k.stacks)), make([]bool, len(k.stacks))
	err := k.chosen(where, func(txn *column.Txn) error {
		stacks, values := txn.Uint32(profile.ColumnStacktrace), txn.Int64(profile.ColumnValue)
		return txn.Range(func(uint32) {
			code, _ := stacks.Get()
			value, _ := values.Get()
			sums[code] += value
			seen[code] = true
		})
	})
	if err != nil || each == nil {
		return err
	}
	for code, sum := range sums {
		if seen[code] {
			each([]byte(k.stacks[code]), sum)
		}
	}
	return nil
}

// Series implements Store.
func (k *kelindar) Series(where []Term, each func(at, sum int64)) error {
	sums := map[int64]int64{}
	err := k.chosen(where, func(txn *column.Txn) error {
		times, values := txn.Int64(profile.ColumnTimestamp), txn.Int64(profile.ColumnValue)
		return txn.Range(func(uint32) {
			at, _ := times.Get()
			value, _ := values.Get()
			sums[at] += value
		})
	})
	if err != nil || each == nil {
		return err
	}
	for at, sum := range sums {
		each(at, sum)
	}
	return nil
}

// Totals implements Store.
func (k *kelindar) Totals(name string, each func(value string, rows, sum int64)) error {
	rows, sums := map[string]int64{}, map[string]int64{}
	err := k.chosen(nil, func(txn *column.Txn) error {
		keys, values := txn.Enum(name), txn.Int64(profile.ColumnValue)
		return txn.Range(func(uint32) {
			key, _ := keys.Get()
			value, _ := values.Get()
			rows[key]++
			sums[key] += value
		})
	})
	if err != nil || each == nil {
		return err
	}
	for key, sum := range sums {
		each(key, rows[key], sum)
	}
	return nil
}

// Pick implements Store. It copies the chosen rows into plain vectors, because the
// collection has no form of its own. Stacks stay numbers unless each is set.
func (k *kelindar) Pick(where []Term, columns []string, each func(schema.Batch)) (rows int64, err error) {
	if columns == nil {
		columns = slices.Collect(maps.Keys(k.columns))
	}
	b := schema.Batch{Columns: map[string]encoding.Vector{}}
	err = k.chosen(where, func(txn *column.Txn) error {
		vectors := make([]encoding.Vector, len(columns))
		get := make([]func(), len(columns))
		for i, name := range columns {
			get[i] = k.getter(txn, name, &vectors[i])
		}
		err := txn.Range(func(uint32) {
			b.Rows++
			for _, f := range get {
				f()
			}
		})
		for i, name := range columns {
			b.Columns[name] = vectors[i]
		}
		return err
	})
	if err == nil && each != nil {
		for name, v := range b.Columns {
			if v.Type == encoding.UUIDList {
				b.Columns[name] = k.lists(v.Uint64s)
			}
		}
		each(b)
	}
	return int64(b.Rows), err
}

// lists returns the stacks with the given numbers.
func (k *kelindar) lists(codes []uint64) encoding.Vector {
	v := encoding.Vector{Type: encoding.UUIDList}
	for _, code := range codes {
		v.UUIDLists = append(v.UUIDLists, IDs([]byte(k.stacks[code])))
	}
	return v
}

// getter returns a function that appends a column in the row at the cursor.
func (k *kelindar) getter(txn *column.Txn, name string, into *encoding.Vector) func() {
	into.Type = k.columns[name]
	switch into.Type {
	case encoding.String:
		from := txn.Enum(name)
		return func() {
			value, _ := from.Get()
			into.Strings = append(into.Strings, value)
		}
	case encoding.UUIDList:
		from := txn.Uint32(name)
		return func() {
			code, _ := from.Get()
			into.Uint64s = append(into.Uint64s, uint64(code))
		}
	case encoding.UUID:
		from := txn.String(name)
		return func() {
			var id uuid.UUID
			value, ok := from.Get()
			copy(id[:], value)
			into.UUIDs, into.Valid = append(into.UUIDs, id), append(into.Valid, ok)
		}
	default:
		from := txn.Int64(name)
		return func() {
			value, ok := from.Get()
			into.Int64s, into.Valid = append(into.Int64s, value), append(into.Valid, ok)
		}
	}
}

// LabelNames implements Store.
func (k *kelindar) LabelNames() (names []string, err error) {
	for name := range k.columns {
		if label, ok := strings.CutPrefix(name, fleet.LabelPrefix); ok {
			names = append(names, label)
		}
	}
	return names, nil
}

// Types implements Store.
func (k *kelindar) Types() ([]Type, error) {
	types := map[Type]bool{}
	err := k.chosen(nil, func(txn *column.Txn) error {
		var get [len(Type{})]func() (string, bool)
		for i, name := range TypeColumns {
			get[i] = txn.Enum(name).Get
		}
		return txn.Range(func(uint32) {
			var kind Type
			for i := range get {
				kind[i], _ = get[i]()
			}
			if !types[kind] {
				types[kind] = true
			}
		})
	})
	return slices.Collect(maps.Keys(types)), err
}

// LabelValues implements Store.
func (k *kelindar) LabelValues(label string, where []Term) ([]string, error) {
	values := map[string]bool{}
	err := k.chosen(where, func(txn *column.Txn) error {
		keys := txn.Enum(fleet.LabelPrefix + label)
		return txn.Range(func(uint32) {
			if value, ok := keys.Get(); ok && !values[value] {
				values[value] = true
			}
		})
	})
	return slices.Collect(maps.Keys(values)), err
}
