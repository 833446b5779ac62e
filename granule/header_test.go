package granule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// scrapes is a schema as that of profiles: a list leads the suffix, the first column
// of the header comes next, and more behind it.
var scrapes = schema.Definition{
	Columns: []schema.Column{
		{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
		{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary, Nullable: true},
		{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
		{Name: "tags", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
		{Name: "duration", Type: encoding.Int64, Encoding: encoding.RLE},
		{Name: "rate", Type: encoding.Float64, Encoding: encoding.RLE},
		{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
	},
	SortingKey: []string{"kind", "stack", "time", "tags"},
	Header:     []string{"time", "duration", "rate"},
}

// profileShape is how rows of the schema are drawn.
type profileShape struct {
	kinds, stacks, times int
	perRow               bool // times and durations of each row, not one for all
	tags                 []string
}

// profileBatch draws rows. Values are all different: they tell rows apart.
func profileBatch(rng *rand.Rand, shape profileShape, rows int) *schema.Batch {
	kinds, stacks, tags := make([]string, rows), make([][]uuid.UUID, rows), make([]string, rows)
	n := 1
	if shape.perRow {
		n = rows
	}
	times, durations, values := make([]int64, n), make([]int64, n), make([]int64, rows)
	stack := encoding.Vector{Type: encoding.UUIDList, UUIDLists: stacks, Valid: make([]bool, rows)}
	for i := range rows {
		kinds[i] = fmt.Sprint("kind", rng.IntN(shape.kinds))
		k := rng.IntN(shape.stacks)
		stacks[i], stack.Valid[i] = []uuid.UUID{{byte(k)}, {byte(k >> 8), 1}}, k > 0
		values[i] = rng.Int64()
		tags[i] = ""
		if len(shape.tags) > 0 {
			tags[i] = shape.tags[rng.IntN(len(shape.tags))]
		}
	}
	for i := range n {
		times[i] = int64(rng.IntN(shape.times) - shape.times/2)
		durations[i] = int64(rng.IntN(2))
	}
	b := &schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings(kinds...), "stack": stack, "time": encoding.Int64s(times...), "duration": encoding.Int64s(durations...),
		"rate": encoding.Float64s(-1.5), "value": encoding.Int64s(values...),
	}}
	if len(shape.tags) > 0 {
		b.Columns["tags.t"] = encoding.Strings(tags...)
	}
	return b
}

// shapes are the kinds of headers that rows can have.
var shapes = map[string]profileShape{
	"one header":       {kinds: 3, stacks: 20, times: 1},
	"one a profile":    {kinds: 3, stacks: 20, times: 10},
	"one series":       {kinds: 1, stacks: 20, times: 10},
	"many profiles":    {kinds: 2, stacks: 3, times: 1000},
	"of each row":      {kinds: 2, stacks: 5, times: 30, perRow: true},
	"all different":    {kinds: 3, stacks: 2, times: 1 << 40, perRow: true},
	"with tags":        {kinds: 2, stacks: 3, times: 3, tags: []string{"", "a", "b"}},
	"of rows and tags": {kinds: 2, stacks: 3, times: 4, perRow: true, tags: []string{"", "a", "b"}},
}

// A rewrite lists headers, and rows keep theirs: of parts of all shapes, of rewrites
// of rewrites, whole and split.
func TestHeaders(t *testing.T) {
	s, seeds := mustSchema(t, scrapes), effort.Less(8, 8)
	if effort.Race { // one goroutine rewrites
		seeds = 2
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				rng := rand.New(rand.NewPCG(seed, 21))
				gen := NewGeneration(1)
				g := New("", "")
				for range 1 + rng.IntN(6) {
					g = g.With(whole(partOf(t, s, gen, profileBatch(rng, shape, 1+rng.IntN(40)))))
				}
				checkHeadersOf(t, seed, s, gen, g, 2)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// checkHeadersOf rewrites a granule whole and split, checks the result, adds a part of another
// shape and repeats, deep times.
func checkHeadersOf(t *testing.T, seed uint64, s *schema.Schema, gen *Generation, g *Granule, deep int) {
	t.Helper()
	before := decodeAll(t, s, g)
	for _, maxRows := range []int{math.MaxInt, 1 + g.Rows()/3, 5} {
		children := Rewrite(s, g, Limit{Rows: maxRows})
		checkRewrite(t, s, g, children, maxRows)
		checkSameRows(t, fmt.Sprintf("seed %d, rewrite to %d rows", seed, maxRows), before, decodeAll(t, s, children...))
		for i, child := range children {
			if wrong := headerWrong(s, child.base.Part); wrong != "" {
				t.Fatalf("seed %d, rewrite to %d rows, child %d: %s", seed, maxRows, i, wrong)
			}
		}
		if deep == 0 || maxRows == 5 {
			continue
		}
		next := children[len(children)/2]
		rng := rand.New(rand.NewPCG(seed, uint64(deep)))
		other := whole(partOf(t, s, gen, profileBatch(rng, shapes["of rows and tags"], 30)))
		next = next.With(other.Within(s, next.lo, next.hi))
		checkHeadersOf(t, seed, s, gen, next, deep-1)
	}
}

// headerWrong describes an error in a rewritten part's headers, "" if there is none: columns share their
// ordinals, no header is without rows, each combination occurs once for a series, and ordinals rise with
// the time in a list.
func headerWrong(s *schema.Schema, p *Part) string {
	var tables []*encoding.Words
	for _, index := range s.Header() {
		c := p.Find(index, s.Columns()[index].Name)
		if c == nil || c.Len() != p.Rows() {
			return fmt.Sprintf("column %d is not there", index)
		}
		table, by := c.Words().Lookup()
		if _, constant := c.Words().Constant(); constant && table == nil {
			continue
		}
		if table == nil || by != p.ordinals {
			return fmt.Sprintf("column %d does not share the ordinals", index)
		}
		tables = append(tables, table)
	}
	if p.ordinals == nil {
		return ""
	}
	if len(tables) == 0 {
		return "there are ordinals although all columns are constant"
	}
	ordinals := p.ordinals.Append(nil, 0, p.Rows())
	headers := slices.Max(ordinals) + 1
	if slices.Min(ordinals) != 0 {
		return "the first headers are of no row"
	}
	for _, table := range tables {
		if table.Len() != int(headers) {
			return fmt.Sprintf("%d headers in a column, rows have %d", table.Len(), headers)
		}
	}
	return ordinalsWrong(s, p, ordinals, tables)
}

func ordinalsWrong(s *schema.Schema, p *Part, ordinals []uint64, tables []*encoding.Words) string {
	header := func(ordinal uint64) string {
		text := ""
		for _, table := range tables {
			text += fmt.Sprint(table.At(int(ordinal)), " ")
		}
		return text
	}
	lists := p.Find(s.Suffix()[0], "stack")
	time := p.Find(s.Suffix()[1], "time").Words()
	word := func(i int) uint64 {
		if lists == nil {
			return 0
		}
		return lists.Words().At(i)
	}
	seen, last := map[string]uint64{}, uint64(0) // of the series at hand, of those before
	for i, ordinal := range ordinals {
		if i > 0 && p.Series().At(i) != p.Series().At(i-1) {
			clear(seen)
			last = slices.Max(ordinals[:i]) + 1
		}
		if ordinal < last {
			return fmt.Sprintf("row %d has header %d, of an earlier series", i, ordinal)
		}
		if known, ok := seen[header(ordinal)]; ok && known != ordinal {
			return fmt.Sprintf("row %d: the header %s is there twice, as %d and %d", i, header(ordinal), known, ordinal)
		}
		seen[header(ordinal)] = ordinal
		same := i > 0 && p.Series().At(i) == p.Series().At(i-1) && word(i) == word(i-1)
		if same && ordinal < ordinals[i-1] && time.At(i) != time.At(i-1) {
			return fmt.Sprintf("row %d has header %d after %d in one list", i, ordinal, ordinals[i-1])
		}
	}
	return ""
}

// Of a split between two series, each child has the headers of its series alone.
func TestHeaders_OfChildren(t *testing.T) {
	s := mustSchema(t, scrapes)
	gen := NewGeneration(1)
	g := New("", "")
	const each = 64
	for kind := range 2 {
		for at := range each {
			b := profileBatch(rand.New(rand.NewPCG(uint64(at), 1)), profileShape{kinds: 1, stacks: 2, times: 1}, 4)
			b.Columns["kind"], b.Columns["time"] = encoding.Strings(fmt.Sprint(kind)), encoding.Int64s(int64(at*(kind+1)))
			g = g.With(whole(partOf(t, s, gen, b)))
		}
	}
	for _, g := range []*Granule{g, Rewrite(s, g, Limit{Rows: math.MaxInt})[0]} { // fresh and of a rewrite
		children := Rewrite(s, g, Limit{Rows: each * 4})
		if len(children) != 2 {
			t.Fatalf("%d children, want 2", len(children))
		}
		for kind, child := range children {
			table, _ := child.base.Part.Find(2, "time").Words().Lookup()
			if table == nil || table.Len() != each {
				t.Fatalf("child %d does not have %d headers", kind, each)
			}
			for at := range each {
				if got := encoding.ToInt64(table.At(at)); got != int64(at*(kind+1)) {
					t.Errorf("child %d: header %d is of %d, want %d", kind, at, got, at*(kind+1))
				}
			}
		}
	}
}

// A value that all rows have is stored once, without ordinals, even if the parts had ordinals.
func TestHeaders_Constant(t *testing.T) {
	s := mustSchema(t, scrapes)
	gen := NewGeneration(1)
	g := New("", "")
	for i := range 5 {
		b := profileBatch(rand.New(rand.NewPCG(uint64(i), 2)), shapes["with tags"], 20)
		b.Columns["time"], b.Columns["duration"] = encoding.Int64s(7), encoding.Int64s(slices.Repeat([]int64{1}, 20)...)
		g = g.With(whole(partOf(t, s, gen, b)))
	}
	base := Rewrite(s, g, Limit{Rows: math.MaxInt})[0].base.Part
	if base.ordinals != nil {
		t.Error("there are ordinals for one header")
	}
	if lo, hi := base.TimeRange(); lo != math.MinInt64 || hi != math.MaxInt64 { // no bucket column
		t.Errorf("times %d to %d", lo, hi)
	}
	for _, index := range s.Header() {
		if _, ok := base.Find(index, s.Columns()[index].Name).Words().Constant(); !ok {
			t.Errorf("column %d is not constant", index)
		}
	}
}
