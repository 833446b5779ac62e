package granule

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// radixSort is a stable sort by the bits from one on.
func TestRadixSort(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 5))
		from := []int{0, 1, 7, 32, 40, 63}[rng.IntN(6)]
		words := make([]uint64, 1+rng.IntN(300))
		if seed%20 == 0 { // digits are wider
			words = make([]uint64, many+rng.IntN(300))
		}
		mask, base := rng.Uint64()>>rng.IntN(64), rng.Uint64() // some bits differ, in any bytes
		if rng.IntN(3) == 0 {
			mask &= 0xff00ff0000ff00ff
		}
		for i := range words {
			words[i] = base ^ rng.Uint64()&mask
		}
		switch rng.IntN(5) {
		case 0:
			slices.Sort(words)
		case 1:
			slices.Sort(words)
			slices.Reverse(words)
		}
		want := slices.Clone(words)
		slices.SortStableFunc(want, func(a, b uint64) int { return cmp.Compare(a>>from, b>>from) })
		given := slices.Clone(words)
		if got := radixSort(given, make([]uint64, len(given)), from); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d words from bit %d:\n%x\nsorted\n%x\nwant\n%x", seed, len(words), from, words, got, want)
		}
	}
}

// ties finds each range of neighbours that are equal from a bit on.
func TestTies(t *testing.T) {
	for _, test := range []struct {
		words []uint64
		want  [][2]int
	}{
		{nil, nil},
		{[]uint64{0x10}, nil},
		{[]uint64{0x10, 0x20, 0x30}, nil},
		{[]uint64{0x10, 0x1f}, [][2]int{{0, 2}}},
		{[]uint64{0x01, 0x10, 0x11, 0x12, 0x20, 0x30, 0x31}, [][2]int{{1, 4}, {5, 7}}},
	} {
		var got [][2]int
		ties(test.words, 4, func(lo, hi int) { got = append(got, [2]int{lo, hi}) })
		if !slices.Equal(got, test.want) {
			t.Errorf("ties of %x: %v, want %v", test.words, got, test.want)
		}
	}
}

// Rows with one list for all and several times are sorted by the time.
func TestSorted_OneList(t *testing.T) {
	s := mustSchema(t, scrapes)
	b := &schema.Batch{Rows: 4, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "stack": encoding.UUIDLists([]uuid.UUID{{1}}), "time": encoding.Int64s(4, 1, 3, 2),
		"duration": encoding.Int64s(1), "rate": encoding.Float64s(1), "value": encoding.Int64s(1),
	}}
	gen := NewGeneration(1)
	p := partOf(t, s, gen, b)
	if diff := gocmp.Diff(text(sortRows(scrapes, gen, rowsOf(scrapes, b))), text(decode(t, s, whole(p)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Ranks and codes that do not fit into half a key are compared instead.
func TestUnsortedKeys_Wide(t *testing.T) {
	s := mustSchema(t, scrapes)
	gen := NewGeneration(1)
	var series []uint32
	for _, kind := range []string{"b", "a", "b"} {
		code, err := gen.Series.Intern(s.AppendTuple(nil, []schema.SeriesValue{{Column: 0, Name: "kind", Value: kind}}))
		if err != nil {
			t.Fatal(err)
		}
		series = append(series, code)
	}
	f := &frame{schema: s, gen: gen, series: series}
	for _, test := range []struct {
		last uint64 // greatest code of a list
		from int
		want []uint64
	}{
		{1<<31 - 1, 1, []uint64{1<<63 | 5<<32, 7<<32 | 1, (1<<63 | (1<<31-1)<<32) | 2}},
		{1 << 31, 0, []uint64{1 << 32, 1, 1<<32 | 2}},
	} {
		from, keys := f.unsortedKeys(&frameColumn{words: []uint64{5, 7, test.last}}, new(slab))
		if from != test.from || !slices.Equal(keys, test.want) {
			t.Errorf("greatest code %d: keys %x from column %d on, want %x and %d", test.last, keys, from, test.want, test.from)
		}
	}
}

// The rows of a series have one order, by all algorithms: sorted as integers, merged by the
// loser tree, and stably sorted by key from frame after frame.
func TestSortSeries(t *testing.T) {
	s := mustSchema(t, scrapes)
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(25) {
				rng := rand.New(rand.NewPCG(seed, 31))
				gen := NewGeneration(1)
				var frames []*frame
				rows := 0
				for range 3 + rng.IntN(8) {
					p := partOf(t, s, gen, profileBatch(rng, shape, 3+rng.IntN(40)))
					if rng.IntN(3) == 0 { // of a rewrite, in a sub-range
						p = Rewrite(s, New("", "").With(whole(p)), Limit{Rows: 1 << 20})[0].base.Part
					}
					lo := rng.IntN(p.Rows())
					frames = append(frames, frameOf(s, p, lo, p.Rows(), new(slab)))
					rows += p.Rows() - lo
				}
				checkOrders(t, seed, frames, rows)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// checkOrders merges frames in three ways.
func checkOrders(t *testing.T, seed uint64, frames []*frame, rows int) {
	t.Helper()
	m := merge(frames, rows, new(slab), new(pauser))
	if m.mem.unsorted == nil {
		t.Errorf("seed %d: nothing was sorted as integers", seed)
	}
	var want []rowRef
	for i, f := range frames {
		for row := range f.series {
			want = append(want, rowRef{int32(i), int32(row)})
		}
	}
	key := func(r rowRef) string { return string(frames[r.frame].appendKey(nil, int(r.row))) }
	slices.SortStableFunc(want, func(a, b rowRef) int { return cmp.Compare(key(a), key(b)) })
	if diff := gocmp.Diff(want, m.order, gocmp.AllowUnexported(rowRef{})); diff != "" {
		t.Errorf("seed %d: merge (-want +got):\n%s", seed, diff)
	}
	if diff := gocmp.Diff(want, byLoserTree(frames), gocmp.AllowUnexported(rowRef{})); diff != "" {
		t.Errorf("seed %d: loser tree (-want +got):\n%s", seed, diff)
	}
}

// byLoserTree merges series by series, all of them with the loser tree.
func byLoserTree(frames []*frame) (order []rowRef) {
	stretches := stretchesOf(frames)
	for len(stretches) > 0 {
		n := 1
		for n < len(stretches) && stretches[n].rank == stretches[0].rank {
			n++
		}
		tree := newLoserTree(frames, stretches[:n])
		for {
			leaf := tree.winner()
			r := &tree.runs[leaf]
			if r.row == r.hi {
				break
			}
			order = append(order, rowRef{stretches[leaf].frame, r.row})
			r.next()
			tree.replay(leaf)
		}
		stretches = stretches[n:]
	}
	return order
}

// The key after the time decides among rows of one list and time, even if each frame has one value for
// all its rows, or none at all.
func TestSortSeries_ConstantTags(t *testing.T) {
	s := mustSchema(t, scrapes)
	gen := NewGeneration(1)
	var frames []*frame
	for i, tag := range []string{"c", "b", "", "a", "b", ""} {
		shape := profileShape{kinds: 1, stacks: 2, times: 1, tags: []string{tag}}
		frames = append(frames, frameOf(s, partOf(t, s, gen, profileBatch(rand.New(rand.NewPCG(uint64(i), 1)), shape, 4)), 0, 4, new(slab)))
	}
	checkOrders(t, 0, frames, 24)
}

// Keys of other kinds are merged by comparing: without a list, without a header, and
// with a column between the list and the header.
func TestSortSeries_OtherKeys(t *testing.T) {
	for _, test := range []struct {
		name   string
		key    []string
		header []string
	}{
		{"no list", []string{"kind", "time", "tags"}, []string{"time"}},
		{"no header", []string{"kind", "stack", "time", "tags"}, nil},
		{"the header is not next", []string{"kind", "stack", "tags", "time"}, []string{"time", "duration"}},
		{"another column of the header is first", []string{"kind", "stack", "duration", "time"}, []string{"time", "duration"}},
		{"the list is last", []string{"kind", "time", "stack"}, []string{"time"}},
		{"nothing behind the list", []string{"kind", "stack"}, []string{"time"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			def := scrapes
			def.SortingKey, def.Header = test.key, test.header
			s := mustSchema(t, def)
			for seed := range uint64(10) {
				checkOtherKeys(t, seed, s, shapes["of rows and tags"])
				checkOtherKeys(t, seed, s, shapes["many profiles"])
			}
		})
	}
}

func checkOtherKeys(t *testing.T, seed uint64, s *schema.Schema, shape profileShape) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 41))
	gen := NewGeneration(1)
	g := New("", "")
	for range 5 {
		g = g.With(whole(partOf(t, s, gen, profileBatch(rng, shape, 3+rng.IntN(20)))))
	}
	children := Rewrite(s, g, Limit{Rows: 40})
	checkRewrite(t, s, g, children, 40)
	checkSameRows(t, "rewrite", decodeAll(t, s, g), decodeAll(t, s, children...))
}
