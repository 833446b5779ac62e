package columnstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// The oracle: rows as maps in a slice, conditions as Go functions on a map, an
// order that compares values. It shares no code with the store.

// oracleRow maps concrete names to values: string, int64, uint64, float64,
// bool, uuid.UUID or []uuid.UUID. What is null is not there.
type oracleRow map[string]any

// wideColumns has every type, plain and coded, nullable and not, dynamic and
// not.
var wideColumns = []schema.Column{
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

// Sorting keys to test with: like a profile's, with every type, and without
// series or at all.
var (
	wideKey = []string{"kind", "zone", "labels", "stack", "time", "tags", "nums"}
	keys    = [][]string{
		wideKey,
		{"labels", "kind", "ids", "memo", "host", "note", "size", "flag", "ratio", "trace", "stack", "bonus"},
		{"flag", "ratio", "tags", "kind", "time"},
		{"kind", "time"},
		nil,
	}
)

func wide(bucket int64, key []string) schema.Definition {
	def := schema.Definition{Columns: wideColumns, SortingKey: key}
	if bucket > 0 {
		def.Bucket = schema.Bucket{Column: "time", Width: bucket}
	}
	return def
}

// domains has what values the random rows and conditions are of. The zero
// byte, the empty string, prefixes and extremes are among them.
var domains = map[string][]any{
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

// randomRows makes rows with times over about 60 buckets of 100: four
// generations, on both sides of 0.
func randomRows(rng *rand.Rand, n int) []oracleRow {
	rows := make([]oracleRow, n)
	names := slices.Sorted(maps.Keys(domains))
	density := rng.Float64()
	for i := range rows {
		rows[i] = oracleRow{"time": int64(rng.IntN(6000) - 3000)}
		if rng.IntN(3) == 0 {
			rows[i]["time"] = int64(rng.IntN(60)-30) * 100
		}
		for _, name := range names {
			if required[name] || rng.Float64() < density {
				rows[i][name] = pick(rng, domains[name])
			}
		}
	}
	if n > 0 && rng.IntN(3) == 0 { // many equal rows: the same keys on both sides of every cut
		for i := range n / 3 {
			rows[i] = maps.Clone(rows[0])
		}
	}
	return rows
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// batchOf turns rows into columns. Some null strings of dynamic columns become
// empty strings (S4), and some columns with one value for all rows are given
// by it alone.
func batchOf(rng *rand.Rand, rows []oracleRow) schema.Batch {
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
	for _, name := range slices.Sorted(maps.Keys(names)) { // in order: rng must give the same again
		b.Columns[name] = vectorOf(rng, name, rows)
	}
	return b
}

func vectorOf(rng *rand.Rand, name string, rows []oracleRow) encoding.Vector {
	family, _, dynamic := strings.Cut(name, ".")
	i := slices.IndexFunc(wideColumns, func(c schema.Column) bool { return c.Name == family })
	v := encoding.Vector{Type: wideColumns[i].Type}
	constant := len(rows) > 0 && rng.IntN(2) == 0
	for _, row := range rows {
		constant = constant && text(row[name]) == text(rows[0][name])
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
		appendTo(&v, value)
	}
	if slices.Contains(valid, false) || rng.IntN(4) == 0 {
		v.Valid = valid
	}
	return v
}

func appendTo(v *encoding.Vector, value any) {
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

// insert commits a batch or ends the test.
func insert(t testing.TB, table *Table, b schema.Batch) {
	t.Helper()
	if _, err := table.Insert(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

func compact(t testing.TB, store *Store) {
	t.Helper()
	if err := store.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// concreteNames returns the concrete columns of rows as a table must name
// them: in definition order, those of a family sorted, if any row has a value.
func concreteNames(rows []oracleRow) []string {
	var names []string
	for _, c := range wideColumns {
		names = append(names, expand(rows, c.Name)...)
	}
	return names
}

// expand resolves one name, of a column or a family.
func expand(rows []oracleRow, name string) []string {
	i := slices.IndexFunc(wideColumns, func(c schema.Column) bool { return c.Name == name })
	if i < 0 || !wideColumns[i].Dynamic {
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

// text writes a value, or a row, so that equal text means equal values: -0 and
// 0 differ, a null and an empty string too.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", v)
	case map[string]any:
		return rowText(v)
	case oracleRow:
		return rowText(v)
	}
	return fmt.Sprintf("%T(%v)", value, value)
}

func rowText(row map[string]any) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if row[name] != nil {
			fmt.Fprintf(&out, "%s=%s ", name, text(row[name]))
		}
	}
	return out.String()
}

// compareValues orders two values of a column, null first.
func compareValues(a, b any) int {
	switch {
	case a == nil || b == nil:
		return boolInt(a != nil) - boolInt(b != nil)
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case int64:
		return cmp.Compare(x, b.(int64))
	case uint64:
		return cmp.Compare(x, b.(uint64))
	case float64:
		y := b.(float64)
		return cmp.Or(cmp.Compare(x, y), boolInt(math.Signbit(y))-boolInt(math.Signbit(x)))
	case bool:
		return boolInt(x) - boolInt(b.(bool))
	case uuid.UUID:
		y := b.(uuid.UUID)
		return bytes.Compare(x[:], y[:])
	}
	panic(fmt.Sprintf("no order of %T", a))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// disorder says what is wrong with the order of rows of a table with the given
// bucket width and key, "" if nothing is. Lists sort by the order in which they
// were first seen, which a reader cannot know: where lists differ the rest of
// the key decides nothing, but equal lists must lie together.
//
// starts says where buckets begin, in order: a range of the width can have several. A row
// can be of any that begins in its range and not after it. So rows must be in an order for
// which each can be in the bucket of the one before, or in a later one.
func disorder(width int64, starts []int64, key []string, rows []map[string]any) string {
	names := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			names[name] = true
		}
	}
	var order []string
	for _, k := range key {
		if names[k] {
			order = append(order, k)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if strings.HasPrefix(name, k+".") {
				order = append(order, name)
			}
		}
	}
	left := map[string]bool{} // lists that ended within the prefix at hand
	bucket := int64(math.MinInt64)
	for i, b := range rows {
		first := int64(0)
		if width > 0 {
			first = floor(b["time"].(int64), width)
			if i > 0 && first < floor(rows[i-1]["time"].(int64), width) {
				return fmt.Sprintf("row %d is of the range of %d, after a later one", i, first)
			}
		}
		if i == 0 || width > 0 && bucket < first {
			clear(left)
			bucket = first // the least that it can be of leaves the most to those that follow
			continue
		}
		wrong := disorderOf(order, left, rows[i-1], b)
		if width > 0 && wrong != "" {
			k, _ := slices.BinarySearch(starts, bucket+1)
			if k < len(starts) && starts[k] < first+width {
				bucket, wrong = starts[k], ""
				clear(left)
			}
		}
		if wrong == "" && width > 0 && b["time"].(int64) < bucket {
			wrong = "is of before its bucket"
		}
		if wrong != "" {
			return fmt.Sprintf("row %d: %s", i, wrong)
		}
	}
	return ""
}

// disorderOf says why row b of a bucket cannot come after row a.
func disorderOf(order []string, left map[string]bool, a, b map[string]any) string {
	for _, name := range order {
		x, y := a[name], b[name]
		_, xList := x.([]uuid.UUID)
		_, yList := y.([]uuid.UUID)
		switch {
		case xList && yList && text(x) == text(y):
		case xList && yList:
			left[text(x)] = true
			if left[text(y)] {
				return fmt.Sprintf("%s %s again after others", name, text(y))
			}
			return ""
		case compareValues(x, y) > 0:
			return fmt.Sprintf("%s is %s after %s", name, text(y), text(x))
		case compareValues(x, y) < 0:
			// Behind the list the prefix goes on; before it, a new one begins.
			if k := slices.Index(order, "stack"); k < 0 || slices.Index(order, name) <= k {
				clear(left)
			}
			return ""
		}
	}
	return ""
}

// bucketStarts returns where the buckets of a table begin in a snapshot, in order.
func bucketStarts(t testing.TB, table *Table, snap *Snapshot) (starts []int64) {
	t.Helper()
	state, err := snap.table(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range state.buckets.All() {
		starts = append(starts, b.start)
	}
	return starts
}

// floor rounds down to a multiple of width, toward minus infinity.
func floor(t, width int64) int64 {
	n := t / width
	if t%width < 0 {
		n--
	}
	return n * width
}

// TestOracleOrder has the order's own test: it must be able to fail.
func TestOracleOrder(t *testing.T) {
	a, b := []uuid.UUID{{1}}, []uuid.UUID{{2}}
	key := []string{"kind", "labels", "stack", "time"}
	for _, test := range []struct {
		name   string
		rows   []map[string]any
		sound  bool
		starts []int64
	}{
		{"sorted", []map[string]any{{"time": int64(1), "kind": "a"}, {"time": int64(0), "kind": "b"}}, true, nil},
		{"bucket leads", []map[string]any{{"time": int64(1), "kind": "b"}, {"time": int64(200), "kind": "a"}}, true, nil},
		{"bucket goes back", []map[string]any{{"time": int64(1)}, {"time": int64(-1)}}, false, nil},
		{"value goes back", []map[string]any{{"time": int64(1), "kind": "b"}, {"time": int64(1), "kind": "a"}}, false, nil},
		{"null is last", []map[string]any{{"time": int64(1), "kind": "b"}, {"time": int64(1), "kind": nil}}, false, nil},
		{"no label after label", []map[string]any{
			{"time": int64(1), "labels.a": "x", "labels.b": nil}, {"time": int64(1), "labels.a": nil, "labels.b": "x"},
		}, false, nil},
		{"lists lie together", []map[string]any{{"time": int64(1), "stack": b}, {"time": int64(2), "stack": b}, {"time": int64(0), "stack": a}}, true, nil},
		{"list comes again", []map[string]any{{"time": int64(1), "stack": b}, {"time": int64(2), "stack": a}, {"time": int64(0), "stack": b}}, false, nil},
		{"list comes again behind another prefix", []map[string]any{
			{"time": int64(1), "kind": "a", "stack": b},
			{"time": int64(2), "kind": "a", "stack": a},
			{"time": int64(0), "kind": "b", "stack": b},
		}, true, nil},
		{"time goes back in a list", []map[string]any{{"time": int64(2), "stack": b}, {"time": int64(1), "stack": b}}, false, nil},
		{"value goes back behind a cut", []map[string]any{{"time": int64(1), "kind": "b"}, {"time": int64(7), "kind": "a"}}, true, []int64{0, 5}},
		{"value goes back before a cut", []map[string]any{{"time": int64(1), "kind": "b"}, {"time": int64(4), "kind": "a"}}, false, []int64{0, 5}},
		{"late row", []map[string]any{{"time": int64(7), "kind": "b"}, {"time": int64(5), "kind": "a"}}, true, []int64{0, 5}},
		{"value goes back twice behind a cut", []map[string]any{
			{"time": int64(1), "kind": "c"}, {"time": int64(7), "kind": "b"}, {"time": int64(7), "kind": "a"},
		}, false, []int64{0, 5}},
		{"row of before its bucket", []map[string]any{
			{"time": int64(1), "kind": "b"}, {"time": int64(7), "kind": "a"}, {"time": int64(2), "kind": "c"},
		}, false, []int64{0, 5}},
		{"cut of another range", []map[string]any{{"time": int64(1), "kind": "b"}, {"time": int64(99), "kind": "a"}}, false, []int64{0, 100}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if found := disorder(100, test.starts, key, test.rows); (found == "") != test.sound {
				t.Errorf("disorder = %q, want sound = %v", found, test.sound)
			}
		})
	}
}
