package columnstore

import (
	"encoding/binary"
	"fmt"
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

// queryColumn is a concrete column that rows of a data set can have, or that a question can
// name without any rows.
type queryColumn struct {
	name    string
	of      schema.Column
	series  bool    // part of the series, by the sorting key
	shared  bool    // the rows of one profile have the same value
	from    float64 // share of the rows before the first with a value; above 1: no values
	density float64
	domain  []any
}

// isDynamicString reports whether null and the empty string are equal in the column.
func (c *queryColumn) isDynamicString() bool { return c.of.Dynamic && c.of.Type == encoding.String }

// querySet is a random table: schema, options, rows. All of it comes from the seed.
type querySet struct {
	seed    uint64
	rng     *rand.Rand
	def     schema.Definition
	opts    Options
	width   int64 // of the time bucket; 0: none
	total   int   // rows, about
	lonely  bool  // no profiles: rows are unrelated
	extreme bool  // some times are the least and the greatest
	ids     bool  // parts with more than a thousand unique ids, which have a filter
	columns []queryColumn
	rows    []oracle.Cells // all that were ever made, in the order of their commits
	starts  rowStarts
}

func newQuerySet(seed uint64) *querySet {
	d := &querySet{seed: seed, rng: rand.New(rand.NewPCG(seed, 15))}
	d.total = 60 + d.rng.IntN(200)
	granule := 1 + d.rng.IntN(60)
	if seed%16 == 7 { // granules of several blocks, and enough lists for passes over all of them
		d.total, granule = 2500, 700
	}
	d.lonely = d.rng.IntN(4) == 0
	d.extreme = d.rng.IntN(8) == 0
	if d.ids = seed%32 == 7; d.ids {
		granule = 5000
	} else if d.rng.IntN(4) > 0 {
		d.width = pick(d.rng, []int64{20, 100, 1000})
	}
	d.opts = Options{
		GranuleRows: granule, FreshParts: 2 + d.rng.IntN(3), GenerationBuckets: 1 + d.rng.IntN(2), FutureLimit: -1,
		Manual: seed%5 != 4,
	}
	d.opts.MaxParts = d.opts.FreshParts + d.rng.IntN(6)
	if seed%3 > 0 {
		d.opts.BucketRows = []int{1, 4, 30}[seed%7%3]
	}
	if seed%4 == 3 {
		d.opts.stringBytes = int64(1 + seed%5*40) // parts store strings
	}
	d.starts.of = map[*any]int64{}
	d.makeSchema()
	d.makeColumns()
	return d
}

func (d *querySet) String() string {
	var columns []string
	for _, c := range d.def.Columns {
		columns = append(columns, fmt.Sprintf("%s:%v,%v,null=%v,dynamic=%v", c.Name, c.Type, c.Encoding, c.Nullable, c.Dynamic))
	}
	return fmt.Sprintf("seed %d: bucket %d, extreme times %v, GenerationBuckets %d, BucketRows %d, GranuleRows %d, FreshParts %d, MaxParts %d, Manual %v, %d rows, key %q, header %q\ncolumns %s",
		d.seed, d.width, d.extreme, d.opts.GenerationBuckets, d.opts.BucketRows, d.opts.GranuleRows, d.opts.FreshParts, d.opts.MaxParts, d.opts.Manual, len(d.rows),
		d.def.SortingKey, d.def.Header, strings.Join(columns, " "))
}

// queryPool has the columns of schemas. The first columns are in each schema.
var queryPool = []schema.Column{
	{Name: "kind", Type: encoding.String},
	{Name: "labels", Type: encoding.String, Dynamic: true},
	{Name: "stack", Type: encoding.UUIDList},
	{Name: "time", Type: encoding.Int64},
	{Name: "value", Type: encoding.Int64},
	{Name: "tags", Type: encoding.String, Dynamic: true},
	{Name: "nums", Type: encoding.Int64, Dynamic: true},
	{Name: "unit", Type: encoding.String, Nullable: true},
	{Name: "trace", Type: encoding.UUID, Nullable: true},
	{Name: "span", Type: encoding.Uint64, Nullable: true},
	{Name: "duration", Type: encoding.Int64},
	{Name: "period", Type: encoding.Int64},
	{Name: "ratio", Type: encoding.Float64, Nullable: true},
	{Name: "flag", Type: encoding.Bool, Nullable: true},
	{Name: "note", Type: encoding.String, Nullable: true},
	{Name: "bonus", Type: encoding.Int64, Nullable: true},
	{Name: "extra", Type: encoding.UUIDList, Nullable: true},
	{Name: "gauges", Type: encoding.Float64, Dynamic: true},
	{Name: "marks", Type: encoding.Bool, Dynamic: true},
	{Name: "ids", Type: encoding.UUID, Dynamic: true},
	{Name: "sizes", Type: encoding.Uint64, Dynamic: true},
}

const queryCore = 7 // columns of the pool that are in every schema

func (d *querySet) makeSchema() {
	rng := d.rng
	for i, c := range queryPool {
		filtered := c.Name == "trace" && d.ids
		if i >= queryCore && rng.IntN(3) == 0 && !filtered {
			continue
		}
		fits := []encoding.Encoding{encoding.Dictionary, encoding.DictionaryRLE}
		if c.Type != encoding.UUIDList && c.Name != "kind" && c.Name != "labels" && c.Name != "unit" {
			fits = slices.DeleteFunc([]encoding.Encoding{
				encoding.Plain, encoding.Dictionary, encoding.RLE, encoding.DictionaryRLE, encoding.Delta,
			}, func(e encoding.Encoding) bool { return !e.Fits(c.Type) })
		}
		if c.Encoding = pick(rng, fits); filtered {
			c.Encoding = encoding.Plain
		}
		if (c.Name == "stack" || c.Name == "kind") && rng.IntN(3) == 0 {
			c.Nullable = true
		}
		d.def.Columns = append(d.def.Columns, c)
	}
	if rng.IntN(3) == 0 {
		rng.Shuffle(len(d.def.Columns), func(i, j int) {
			d.def.Columns[i], d.def.Columns[j] = d.def.Columns[j], d.def.Columns[i]
		})
	}
	key := []string{"kind", "unit", "labels", "stack", "time", "tags", "nums", "duration", "period"}
	switch rng.IntN(8) {
	case 0:
		key = []string{"labels", "kind", "time", "stack"}
	case 1:
		key = []string{"kind", "time"}
	case 2:
		key = nil
	case 3: // anything; the order of lists is known for one column only
		for _, c := range d.def.Columns {
			if c.Name != "extra" {
				key = append(key, c.Name)
			}
		}
		key = slices.Compact(slices.Sorted(slices.Values(key)))
		rng.Shuffle(len(key), func(i, j int) { key[i], key[j] = key[j], key[i] })
		key = key[:rng.IntN(7)]
	}
	for _, name := range key {
		if d.has(name) {
			d.def.SortingKey = append(d.def.SortingKey, name)
		}
	}
	if rng.IntN(3) > 0 {
		for _, name := range []string{"time", "duration", "period"} {
			if d.has(name) && rng.IntN(4) > 0 {
				d.def.Header = append(d.def.Header, name)
			}
		}
	}
	if d.width > 0 {
		d.def.Bucket = schema.Bucket{Column: "time", Width: d.width}
	}
}

func (d *querySet) has(name string) bool {
	return slices.ContainsFunc(d.def.Columns, func(c schema.Column) bool { return c.Name == name })
}

// queryMembers are the concrete columns of families, with the share of rows before their first
// value.
var queryMembers = map[string]map[string]float64{
	"labels": {"job": 0, "pod": 0, "zone": 0, "late": 0.5, "none": 2},
	"tags":   {"t": 0, "user": 0, "late": 0.6, "none": 2},
	"nums":   {"n": 0, "bytes": 0, "late": 0.7, "none": 2},
	"gauges": {"g": 0, "late": 0.5},
	"marks":  {"m": 0.1},
	"ids":    {"a": 0, "none": 2},
	"sizes":  {"s": 0, "late": 0.6},
}

func (d *querySet) makeColumns() {
	s, err := schema.New(d.def)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", d, err))
	}
	for i, of := range s.Columns() {
		members := map[string]float64{"": 0}
		if of.Dynamic {
			members = queryMembers[of.Name]
		}
		for _, member := range slices.Sorted(maps.Keys(members)) {
			c := queryColumn{name: of.Name, of: of, series: s.IsSeries(i), from: members[member], density: pick(d.rng, []float64{0.1, 0.5, 0.9, 1})}
			if of.Dynamic {
				c.name += "." + member
			} else if !of.Nullable || of.Name == "trace" && d.ids {
				c.density = 1
			}
			c.shared = c.series || slices.Contains(s.Header(), i) || of.Name == "time"
			c.domain = d.domain(c.name, of.Type)
			d.columns = append(d.columns, c)
		}
	}
}

// domain returns a column's values.
func (d *querySet) domain(name string, t encoding.Type) []any {
	switch name {
	case "kind", "note":
		return []any{"", "cpu", "cp", "heap", "h\x00p"}
	case "unit":
		return []any{"", "a", "b"}
	case "labels.pod", "tags.user":
		pods := []any{"\uffff", "w\x00b", "p"}
		for i := range min(d.total/20, 60) {
			pods = append(pods, fmt.Sprint("p", i))
		}
		return pods
	case "duration", "period":
		return []any{int64(10), int64(11), int64(-1)}
	case "value":
		return []any{int64(-1), int64(0), int64(1), int64(20), int64(1 << 40), int64(math.MaxInt64), int64(7), int64(8)}
	case "stack", "extra":
		return d.lists()
	case "trace": // mostly unique
		var ids []any
		for range d.total {
			id := uuid.UUID{15: byte(d.rng.Uint32())}
			binary.LittleEndian.PutUint64(id[:], d.rng.Uint64())
			ids = append(ids, id)
		}
		return append(ids, uuid.UUID{}, uuid.UUID{1})
	}
	switch t {
	case encoding.String:
		return []any{"a", "b", "ab", "é"}
	case encoding.Uint64:
		return []any{uint64(0), uint64(1), uint64(math.MaxUint64), uint64(1 << 63)}
	case encoding.Float64:
		out := []any{math.Inf(-1), -1.5, math.Copysign(0, -1), 0.0, 2.5, math.Inf(1), math.SmallestNonzeroFloat64}
		if !slices.Contains(d.def.SortingKey, name) && !strings.Contains(name, ".") {
			out = append(out, math.NaN()) // rows sort it by its bits
		}
		return out
	case encoding.Bool:
		return []any{false, true}
	case encoding.UUID:
		return []any{uuid.UUID{}, uuid.UUID{1}, uuid.UUID{15: 1}, uuid.UUID{255, 0, 255}, uuid.UUID{7}}
	}
	return []any{int64(-5), int64(0), int64(7), int64(math.MinInt64), int64(math.MaxInt64), int64(512)}
}

// lists makes lists with common prefixes, the empty list, and lists with a repeated element.
// About two thirds of the elements have records.
func (d *querySet) lists() []any {
	out := []any{[]uuid.UUID{}, []uuid.UUID{{15: 1}, {15: 1}}}
	front := []uuid.UUID{}
	for range 6 + d.total/8 {
		list := slices.Clone(front[:d.rng.IntN(len(front)+1)])
		for range 1 + d.rng.IntN(5) {
			list = append(list, uuid.UUID{15: byte(1 + d.rng.IntN(10+d.total/40))})
		}
		if len(list) > 30 {
			list = list[:30]
		}
		front = list
		out = append(out, list)
	}
	return out
}

// recordOf returns an element's record, the same in every table.
func recordOf(id uuid.UUID) []byte {
	if id[15]%3 == 0 {
		return nil
	}
	return fmt.Appendf(nil, "record %d", id[15])
}

// makeRows makes about n more rows: profiles of rows with one series and header.
func (d *querySet) makeRows(n int) []oracle.Cells {
	first := len(d.rows)
	for len(d.rows) < first+n {
		progress := float64(len(d.rows)) / float64(d.total)
		profile := d.makeRow(nil, progress)
		k := 1
		if !d.lonely {
			k += d.rng.IntN(20)
		}
		for range k {
			row := d.makeRow(profile, progress)
			if d.rng.IntN(10) == 0 && len(d.rows) > first {
				row = slices.Clone(d.rows[len(d.rows)-1])
			}
			d.rows = append(d.rows, row)
		}
	}
	return d.rows[first:]
}

func (d *querySet) makeRow(profile oracle.Cells, progress float64) oracle.Cells {
	row := make(oracle.Cells, len(d.columns))
	for i := range d.columns {
		c := &d.columns[i]
		switch {
		case profile != nil && c.shared:
			row[i] = profile[i]
		case c.name == "time":
			row[i] = d.makeTime()
		case c.from <= progress && (c.density >= 1 || d.rng.Float64() < c.density):
			row[i] = pick(d.rng, c.domain)
		}
	}
	return row
}

// makeTime returns a time in one of twelve ranges, or of two, because these must be cut often, and often
// the start of a range.
func (d *querySet) makeTime() int64 {
	width := max(d.width, 100)
	ranges := 12
	if d.seed%3 == 2 {
		ranges = 2
	}
	at := int64(d.rng.IntN(ranges)-ranges/2) * width
	switch k := d.rng.IntN(200); {
	case k == 0 && d.extreme:
		return math.MinInt64
	case k == 1 && d.extreme:
		return math.MaxInt64
	case k > 60:
		at += d.rng.Int64N(width)
	}
	return at
}
