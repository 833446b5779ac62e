package querytest

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// WideColumns has every type, plain and coded, nullable and not, dynamic and
// not.
var WideColumns = []schema.Column{
	{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
	{Name: "zone", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
	{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
	{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary, Nullable: true},
	{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
	{Name: "tags", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
	{Name: "nums", Type: encoding.Int64, Encoding: encoding.RLE, Dynamic: true},
	{Name: "ids", Type: encoding.UUID, Encoding: encoding.Plain, Dynamic: true},
	{Name: "host", Type: encoding.UUID, Encoding: encoding.Dictionary, Nullable: true},
	{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
	{Name: "note", Type: encoding.String, Encoding: encoding.Plain, Nullable: true},
	{Name: "memo", Type: encoding.String, Encoding: encoding.Plain, Dynamic: true},
	{Name: "size", Type: encoding.Uint64, Encoding: encoding.RLE, Nullable: true},
	{Name: "ratio", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
	{Name: "flag", Type: encoding.Bool, Encoding: encoding.RLE, Nullable: true},
	{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
	{Name: "bonus", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
}

// WideKeys are sorting keys to test with: WideKey, which resembles a profile's key, a key with every type,
// and keys without series or without any column.
var (
	WideKey  = []string{"kind", "zone", "labels", "stack", "time", "tags", "nums"}
	WideKeys = [][]string{
		WideKey,
		{"labels", "kind", "ids", "memo", "host", "note", "size", "flag", "ratio", "trace", "stack", "bonus"},
		{"flag", "ratio", "tags", "kind", "time"},
		{"kind", "time"},
		nil,
	}
)

// Wide defines a table of WideColumns with a sorting key.
func Wide(bucket int64, key []string) schema.Definition {
	def := schema.Definition{Columns: WideColumns, SortingKey: key}
	if bucket > 0 {
		def.Bucket = schema.Bucket{Column: "time", Width: bucket}
	}
	return def
}

// Domains has the values of random rows and conditions, including the zero byte, the empty string, prefixes
// and extremes.
var Domains = map[string][]any{
	"kind":       {"", "cpu", "cp", "heap", "h\x00p"},
	"zone":       {"", "a", "b"},
	"labels.job": {"api", "web", "w\x00b"},
	"labels.pod": {"p0", "p1", "p2", "p10"},
	"labels.j":   {"x", "y"},
	"tags.t":     {"a", "b", "ab"},
	"tags.user":  {"é", "\uffff"},
	"nums.n":     {int64(-5), int64(0), int64(7), int64(math.MinInt64), int64(math.MaxInt64)},
	"nums.bytes": {int64(512), int64(1024)},
	"ids.a":      {uuid.UUID{}, uuid.UUID{1}, uuid.UUID{15: 1}},
	"host":       {uuid.UUID{}, uuid.UUID{0, 255}, uuid.UUID{7}},
	"trace":      {uuid.UUID{}, uuid.UUID{1, 2, 3}, uuid.UUID{3}, uuid.UUID{255, 0, 255}},
	"note":       {"", "n", "no", "\x00", "\x00\xc3\xbf"},
	"memo.m":     {"u", "v"},
	"size":       {uint64(0), uint64(1), uint64(math.MaxUint64), uint64(1 << 63)},
	"ratio":      {math.Inf(-1), -1.5, math.Copysign(0, -1), 0.0, 2.5, math.Inf(1), math.SmallestNonzeroFloat64},
	"flag":       {false, true},
	"value":      {int64(-1), int64(0), int64(1), int64(20), int64(1 << 40), int64(math.MaxInt64)},
	"bonus":      {int64(3), int64(-3), int64(math.MinInt64)},
	"stack": {
		[]uuid.UUID{},
		[]uuid.UUID{{1}},
		[]uuid.UUID{{1}, {2}},
		[]uuid.UUID{{2}, {1}},
		[]uuid.UUID{{1}, {1}},
		[]uuid.UUID{{9}, {8}, {7}},
	},
}

var required = map[string]bool{"kind": true, "time": true, "value": true}

// RandomRows makes rows with times in about 60 buckets of 100: four generations, on both sides of 0.
func RandomRows(rng *rand.Rand, n int) []oracle.Row {
	rows := make([]oracle.Row, n)
	names := slices.Sorted(maps.Keys(Domains))
	density := rng.Float64()
	for i := range rows {
		rows[i] = oracle.Row{"time": int64(rng.IntN(6000) - 3000)}
		if rng.IntN(3) == 0 {
			rows[i]["time"] = int64(rng.IntN(60)-30) * 100
		}
		for _, name := range names {
			if required[name] || rng.Float64() < density {
				rows[i][name] = pick(rng, Domains[name]...)
			}
		}
	}
	if n > 0 && rng.IntN(3) == 0 { // many equal rows: the same WideKeys on both sides of every cut
		for i := range n / 3 {
			rows[i] = maps.Clone(rows[0])
		}
	}
	return rows
}

// BatchOf turns rows into columns. Some null strings of dynamic columns become empty strings (S4), and some
// columns with the same value in all rows have only that value.
func BatchOf(rng *rand.Rand, rows []oracle.Row) schema.Batch {
	b := schema.Batch{Rows: len(rows), Columns: map[string]encoding.Vector{}}
	names := map[string]bool{}
	for name := range required {
		names[name] = true
	}
	for _, row := range rows {
		for name := range row {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) { // in order, so that rng is reproducible
		b.Columns[name] = vectorOf(rng, name, rows)
	}
	return b
}

func vectorOf(rng *rand.Rand, name string, rows []oracle.Row) encoding.Vector {
	family, _, dynamic := strings.Cut(name, ".")
	i := slices.IndexFunc(WideColumns, func(c schema.Column) bool { return c.Name == family })
	v := encoding.Vector{Type: WideColumns[i].Type}
	constant := len(rows) > 0 && rng.IntN(2) == 0
	for _, row := range rows {
		constant = constant && oracle.Text(row[name]) == oracle.Text(rows[0][name])
	}
	if constant {
		rows = rows[:1]
	}
	var valid []bool
	for _, row := range rows {
		value, ok := row[name]
		if dynamic && !ok && v.Type == encoding.String && rng.IntN(2) == 0 {
			value, ok = "", true
		}
		valid = append(valid, ok)
		Append(&v, value)
	}
	if slices.Contains(valid, false) || rng.IntN(4) == 0 {
		v.Valid = valid
	}
	return v
}

// Append appends a value to a vector, or the zero value if value is nil.
func Append(v *encoding.Vector, value any) {
	switch v.Type {
	case encoding.Int64:
		v.Int64s = append(v.Int64s, orZero[int64](value))
	case encoding.Uint64:
		v.Uint64s = append(v.Uint64s, orZero[uint64](value))
	case encoding.Float64:
		v.Float64s = append(v.Float64s, orZero[float64](value))
	case encoding.Bool:
		v.Bools = append(v.Bools, orZero[bool](value))
	case encoding.String:
		v.Strings = append(v.Strings, orZero[string](value))
	case encoding.UUID:
		v.UUIDs = append(v.UUIDs, orZero[uuid.UUID](value))
	case encoding.UUIDList:
		v.UUIDLists = append(v.UUIDLists, orZero[[]uuid.UUID](value))
	}
}

func orZero[T any](value any) T {
	v, _ := value.(T)
	return v
}

// ConcreteNames returns the names of the concrete columns that a table with these rows must have: in the
// order of the definition, sorted within a family, and only columns with a value in some row.
func ConcreteNames(rows []oracle.Row) []string {
	var names []string
	for _, c := range WideColumns {
		names = append(names, Expand(rows, c.Name)...)
	}
	return names
}

// Expand returns the concrete names of one column or family.
func Expand(rows []oracle.Row, name string) []string {
	i := slices.IndexFunc(WideColumns, func(c schema.Column) bool { return c.Name == name })
	if i < 0 || !WideColumns[i].Dynamic {
		return []string{name}
	}
	seen := map[string]bool{}
	for _, row := range rows {
		for column := range row {
			if strings.HasPrefix(column, name+".") {
				seen[column] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
