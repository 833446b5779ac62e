package granule

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// This file is the oracle: rows as maps of plain values, ordered by a
// comparison of values that knows nothing of keys, frames or parts.

// row maps concrete column names to values; a column that is not there is null.
// Values are int64, uint64, float64, bool, string, uuid.UUID and []uuid.UUID.
type row map[string]any

// String renders a row so that equal rows, and no others, have equal text.
func (r row) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r)) {
		switch v := r[name].(type) {
		case float64:
			fmt.Fprintf(&b, "%s=%v/%x ", name, v, math.Float64bits(v))
		case uuid.UUID:
			fmt.Fprintf(&b, "%s=%x ", name, bytes.TrimRight(v[:], "\x00"))
		case []uuid.UUID:
			fmt.Fprintf(&b, "%s=[", name)
			for _, id := range v {
				fmt.Fprintf(&b, "%x;", bytes.TrimRight(id[:], "\x00"))
			}
			b.WriteString("] ")
		default:
			fmt.Fprintf(&b, "%s=%#v ", name, v)
		}
	}
	return b.String()
}

// rowsOf returns a batch's rows. Empty strings of families are null (S4).
func rowsOf(def schema.Definition, b *schema.Batch) []row {
	rows := make([]row, b.Rows)
	for i := range rows {
		rows[i] = row{}
		for name, v := range b.Columns {
			at := i
			if v.Len() == 1 {
				at = 0
			}
			if v.Valid != nil && !v.Valid[at] {
				continue
			}
			value := element(&v, at)
			if family, _, dotted := strings.Cut(name, "."); dotted && value == "" && columnOf(def, family).Dynamic {
				continue
			}
			rows[i][name] = value
		}
	}
	return rows
}

func element(v *encoding.Vector, i int) any {
	switch v.Type {
	case encoding.Int64:
		return v.Int64s[i]
	case encoding.Uint64:
		return v.Uint64s[i]
	case encoding.Float64:
		return v.Float64s[i]
	case encoding.Bool:
		return v.Bools[i]
	case encoding.String:
		return v.Strings[i]
	case encoding.UUID:
		return v.UUIDs[i]
	default:
		return v.UUIDLists[i]
	}
}

func columnOf(def schema.Definition, name string) schema.Column {
	i := slices.IndexFunc(def.Columns, func(c schema.Column) bool { return c.Name == name })
	return def.Columns[i]
}

// bucketOf returns the start of the row's bucket by plain floor division.
func bucketOf(def schema.Definition, r row) int64 {
	if def.Bucket.Width == 0 {
		return 0
	}
	t := r[def.Bucket.Column].(int64)
	return int64(math.Floor(float64(t)/float64(def.Bucket.Width))) * def.Bucket.Width
}

// compareRows is the order of rows by value: the bucket, then the sorting key's columns, nulls first,
// families in the order of their names.
func compareRows(def schema.Definition, gen *Generation, a, b row) int {
	if c := cmp.Compare(bucketOf(def, a), bucketOf(def, b)); c != 0 {
		return c
	}
	for _, name := range def.SortingKey {
		names := []string{name}
		if columnOf(def, name).Dynamic {
			names = concreteNames(name, a, b)
		}
		for _, name := range names {
			x, inA := a[name]
			y, inB := b[name]
			switch {
			case !inA && !inB:
				continue
			case !inA:
				return -1
			case !inB:
				return 1
			}
			if c := compareValues(gen, x, y); c != 0 {
				return c
			}
		}
	}
	return 0
}

// concreteNames returns the columns of a family that either row has, in order.
func concreteNames(family string, rows ...row) []string {
	set := map[string]bool{}
	for _, r := range rows {
		for name := range r {
			if strings.HasPrefix(name, family+".") {
				set[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func compareValues(gen *Generation, x, y any) int {
	switch x := x.(type) {
	case int64:
		return cmp.Compare(x, y.(int64))
	case uint64:
		return cmp.Compare(x, y.(uint64))
	case float64: // -0 before 0; NaN is not generated
		y := y.(float64)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(math.Copysign(1, x), math.Copysign(1, y)))
	case bool:
		return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) // "false" < "true"
	case string:
		return strings.Compare(x, y.(string))
	case uuid.UUID:
		y := y.(uuid.UUID)
		return bytes.Compare(x[:], y[:])
	default:
		return cmp.Compare(listCode(gen, x.([]uuid.UUID)), listCode(gen, y.([]uuid.UUID)))
	}
}

// listCode returns the code that a list has in the dictionary.
func listCode(gen *Generation, list []uuid.UUID) uint32 {
	var elements []uint32
	for _, id := range list {
		code, _ := gen.Lists.InternElement(id, nil)
		elements = append(elements, code)
	}
	code, _ := gen.Lists.InternList(elements)
	return code
}

// decode returns the rows of a section through the exported API alone.
func decode(t testing.TB, s *schema.Schema, section Section) []row {
	t.Helper()
	p := section.Part
	gen := p.Generation()
	rows := make([]row, 0, section.Rows())
	for i := section.Lo; i < section.Hi; i++ {
		r := row{}
		labels, err := s.ReadTuple(gen.Series.Value(uint32(p.Series().At(i))))
		if err != nil {
			t.Fatalf("series of row %d: %v", i, err)
		}
		for _, l := range labels {
			r[l.Name] = l.Value
		}
		for _, c := range p.Columns() {
			if !c.Null(i) {
				r[c.Name] = value(&c.Column, i)
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func value(c *encoding.Column, i int) any {
	word := c.Words().At(i)
	switch c.Type() {
	case encoding.Int64:
		return encoding.ToInt64(word)
	case encoding.Uint64:
		return word
	case encoding.Float64:
		return encoding.ToFloat64(word)
	case encoding.Bool:
		return word != 0
	case encoding.String:
		return string(c.Bytes(word))
	case encoding.UUID:
		return uuid.UUID(c.Bytes(word))
	default:
		return c.Lists().UUIDs(nil, uint32(word))
	}
}

// decodeAll returns the rows of all sections of some granules.
func decodeAll(t testing.TB, s *schema.Schema, granules ...*Granule) []row {
	t.Helper()
	var rows []row
	for _, g := range granules {
		for _, section := range g.Sections() {
			rows = append(rows, decode(t, s, section)...)
		}
	}
	return rows
}

// text renders rows in their order, for diffs.
func text(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.String()
	}
	return out
}

// bag renders rows as a multiset: in an order that is none of theirs.
func bag(rows []row) []string {
	out := text(rows)
	slices.Sort(out)
	return out
}

// sortRows sorts rows as the oracle does; equal ones keep their order.
func sortRows(def schema.Definition, gen *Generation, rows []row) []row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return compareRows(def, gen, a, b) })
	return rows
}

// keysOf returns the keys of a section's rows. TestCodeMatchesOracle checks that keys sort as values do.
func keysOf(s *schema.Schema, section Section) []string {
	f := frameOf(s, section.Part, section.Lo, section.Hi, new(slab))
	keys := make([]string, section.Rows())
	for i := range keys {
		keys[i] = string(f.appendKey(nil, i))
	}
	return keys
}

// checkTiling fails unless the granules are in order and cover the keys of
// [lo, hi) once (G4), and unless each of their sections is sorted and within its
// granule's bounds (G2).
func checkTiling(t testing.TB, s *schema.Schema, lo, hi string, granules []*Granule) {
	t.Helper()
	for i, g := range granules {
		from, to := g.Bounds()
		if from != lo {
			t.Fatalf("G4: granule %d begins at %q, want %q", i, from, lo)
		}
		if to != "" && to <= from {
			t.Fatalf("G4: granule %d has the bounds [%q, %q)", i, from, to)
		}
		lo = to
		rows, fresh := 0, 0
		for k, section := range g.Sections() {
			keys := keysOf(s, section)
			if !slices.IsSorted(keys) {
				t.Fatalf("G2: granule %d, section %d is not sorted", i, k)
			}
			for _, key := range keys {
				if key < from || to != "" && key >= to {
					t.Fatalf("G2: granule %d [%q, %q) has the key %q", i, from, to, key)
				}
			}
			rows += section.Rows()
			if section != g.base {
				fresh++
			}
		}
		if g.Rows() != rows || g.FreshParts() != fresh || g.FreshRows() != rows-g.base.Rows() {
			t.Fatalf("granule %d says %d rows, %d fresh ones in %d parts; its sections have %d rows in %d fresh parts",
				i, g.Rows(), g.FreshRows(), g.FreshParts(), rows, fresh)
		}
	}
	if lo != hi {
		t.Fatalf("G4: the last granule ends at %q, want %q", lo, hi)
	}
}

func checkSameRows(t testing.TB, what string, want, got []row) {
	t.Helper()
	if diff := gocmp.Diff(bag(want), bag(got)); diff != "" {
		t.Fatalf("%s: rows (-want +got):\n%s", what, diff)
	}
}
