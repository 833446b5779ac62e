package granule

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// codeAll codes all rows of a batch, in Rows that others may have used before.
func codeAll(t testing.TB, s *schema.Schema, gen *Generation, b *schema.Batch) *Rows {
	t.Helper()
	columns, err := s.Check(b)
	if err != nil {
		t.Error(err)
		return nil
	}
	rows, err := Code(s, gen, 0, b, columns, nil)
	if err != nil {
		t.Error(err)
	}
	return rows
}

// A part owns its memory: later rows, coded in the returned memory of its rows, do not change
// it, and the same rows make the same part again.
func TestRowsAreUsedAgain(t *testing.T) {
	for _, def := range []schema.Definition{scrapes, everything(0)} {
		s := mustSchema(t, def)
		gen := NewGeneration(1)
		rng := rand.New(rand.NewPCG(1, 51))
		var parts []*Part
		var want [][]string
		for i := range 40 {
			shape := shapes[[]string{"of rows and tags", "one a profile", "of each row"}[i%3]]
			b := profileBatch(rng, shape, 1+rng.IntN(200))
			if len(def.Columns) > len(scrapes.Columns) {
				b = fixedBatch(rng, def)
			}
			for range 2 {
				rows := codeAll(t, s, gen, b)
				cut := rng.IntN(rows.Len() + 1)
				parts = append(parts, rows.Part(0, cut), rows.Part(cut, rows.Len()))
				rows.Done()
				for _, p := range parts[len(parts)-2:] {
					want = append(want, text(decode(t, s, whole(p))))
				}
			}
			n := len(parts)
			first, again := slices.Concat(want[n-4], want[n-3]), slices.Concat(want[n-2], want[n-1])
			if diff := gocmp.Diff(first, again); diff != "" {
				t.Fatalf("batch %d coded again (-first +again):\n%s", i, diff)
			}
		}
		for i, p := range parts {
			if diff := gocmp.Diff(want[i], text(decode(t, s, whole(p)))); diff != "" {
				t.Fatalf("part %d of %d changed (-before +after):\n%s", i, len(parts), diff)
			}
		}
	}
}

// fixedBatch fits everything: rows with the columns that must be there, and some more.
func fixedBatch(rng *rand.Rand, def schema.Definition) *schema.Batch {
	b := profileBatch(rng, profileShape{kinds: 3, stacks: 4, times: 5, perRow: true, tags: []string{"", "a"}}, 1+rng.IntN(50))
	for name := range b.Columns {
		if !slices.ContainsFunc(def.Columns, func(c schema.Column) bool { return c.Name == name || c.Dynamic && name == c.Name+".t" }) {
			delete(b.Columns, name)
		}
	}
	b.Columns["unit"], b.Columns["note"] = b.Columns["kind"], b.Columns["kind"]
	trace := encoding.Vector{Type: encoding.UUID, UUIDs: make([]uuid.UUID, b.Rows), Valid: make([]bool, b.Rows)}
	for i := range b.Rows {
		trace.UUIDs[i], trace.Valid[i] = uuid.UUID{byte(rng.Int())}, rng.IntN(3) > 0
	}
	b.Columns["trace"] = trace
	return b
}

// Goroutines share pools and dictionaries, and nothing else: each gets the parts of its
// own rows, also while others rewrite.
func TestRowsAreUsedAgain_Concurrently(t *testing.T) {
	s := mustSchema(t, scrapes)
	gen := NewGeneration(1)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 61))
			g := New("", "")
			var want []row
			for i := range 60 {
				b := profileBatch(rng, shapes["of rows and tags"], 1+rng.IntN(100))
				rows := codeAll(t, s, gen, b)
				if rows == nil {
					return
				}
				g = g.With(whole(rows.Part(0, rows.Len())))
				rows.Done()
				want = append(want, rowsOf(scrapes, b)...)
				if i%10 == 9 {
					g = Rewrite(s, g, Limit{Rows: 1 << 20})[0]
				}
			}
			if diff := gocmp.Diff(bag(want), bag(decodeAll(t, s, g))); diff != "" {
				t.Errorf("writer %d (-want +got):\n%s", w, diff)
			}
		})
	}
	wg.Wait()
}

// A slab returns disjoint slices, with room or without, and has room for as many words the
// next time.
func TestSlab(t *testing.T) {
	s := new(slab)
	for round := range 4 {
		var pieces [][]uint64
		for i := range 20 {
			piece := s.room(i * 3)
			if len(piece) != 0 || cap(piece) < i*3 {
				t.Fatalf("take(%d) has %d words and room for %d", i*3, len(piece), cap(piece))
			}
			for range i*3 + 2 { // more than it has room for
				piece = append(piece, uint64(i))
			}
			pieces = append(pieces, piece)
		}
		if one := s.one(7); !slices.Equal(one, []uint64{7}) {
			t.Errorf("one(7) = %v", one)
		}
		for i, piece := range pieces {
			if slices.Min(piece) != uint64(i) || slices.Max(piece) != uint64(i) {
				t.Errorf("round %d: piece %d has %v", round, i, piece)
			}
		}
		s.reset()
		if want := 3*190 + 1; len(s.words) != want || s.used != 0 {
			t.Errorf("round %d: %d words are kept, %d used; want %d", round, len(s.words), s.used, want)
		}
	}
	s.room(slabKept + 1)
	s.reset()
	if len(s.words) > slabKept {
		t.Errorf("%d words are kept, at most %d", len(s.words), slabKept)
	}
	if n := testing.AllocsPerRun(10, func() {
		for range 20 {
			s.room(10)
		}
		s.reset()
	}); n > 0 {
		t.Errorf("%v allocations for what there is room for", n)
	}
}

// A batch is the caller's again when its parts are built: nothing of it is in them.
func TestPartKeepsNothingOfTheBatch(t *testing.T) {
	s := mustSchema(t, scrapes)
	gen := NewGeneration(1)
	rng := rand.New(rand.NewPCG(1, 53))
	for name, shape := range shapes {
		b := profileBatch(rng, shape, 100)
		rows := codeAll(t, s, gen, b)
		p := rows.Part(0, rows.Len())
		rows.Done()
		want := text(decode(t, s, whole(p)))
		for _, v := range b.Columns {
			for i := range v.Int64s {
				v.Int64s[i] ^= 0x55
			}
			clear(v.Codes)
			clear(v.UUIDLists)
		}
		if diff := gocmp.Diff(want, text(decode(t, s, whole(p)))); diff != "" {
			t.Fatalf("%s: the part changed with the batch (-before +after):\n%s", name, diff)
		}
	}
}

// No rows are coded and sorted like others.
func TestCodeOfNoRows(t *testing.T) {
	s := mustSchema(t, scrapes)
	b := profileBatch(rand.New(rand.NewPCG(1, 57)), shapes["of each row"], 1)
	b.Rows = 0
	for name, v := range b.Columns {
		b.Columns[name] = encoding.Vector{Type: v.Type}
	}
	rows := codeAll(t, s, NewGeneration(1), b)
	if rows.Len() != 0 {
		t.Errorf("%d rows", rows.Len())
	}
	rows.Done()
}
