package encoding

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// randomLists returns lists of a few elements, some of them empty and many alike.
func randomLists(rng *rand.Rand, n int) [][]uuid.UUID {
	lists := make([][]uuid.UUID, n)
	for i := range lists {
		for range rng.IntN(6) {
			lists[i] = append(lists[i], uuidOf(rng.IntN(4)))
		}
	}
	return lists
}

// TestUnion puts the lists of several dictionaries together: each distinct one has one
// code, by which it is read as it was given.
func TestUnion(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		dicts := make([]*ListDict, 1+rng.IntN(4))
		codes := make([][]uint32, len(dicts))
		lists := make([][][]uuid.UUID, len(dicts))
		for i := range dicts {
			dicts[i] = NewListDict(7)
			lists[i] = randomLists(rng, rng.IntN(200))
			for _, list := range lists[i] {
				codes[i] = append(codes[i], internUUIDs(t, dicts[i], list))
			}
			for e := range dicts[i].Elements() {
				id := dicts[i].Element(uint32(e + 1))
				if err := dicts[i].KeepRecord(id, fmt.Appendf(nil, "%d of %v", i, id)); err != nil {
					t.Fatal(err)
				}
			}
		}
		u := NewUnion(dicts...)
		known := map[string]uint32{}
		for i := range dicts {
			for k, code := range codes[i] {
				got := u.Add(i, code)
				text := fmt.Sprint(lists[i][k])
				if want, ok := known[text]; ok && got != want {
					t.Fatalf("seed %d: list %s has code %d and code %d", seed, text, want, got)
				}
				known[text] = got
			}
		}
		if u.Add(0, 0) != 0 || u.Len() != len(known) {
			t.Errorf("seed %d: null has code %d; %d lists, want %d", seed, u.Add(0, 0), u.Len(), len(known))
		}
		checkLists(t, u.Reader(), known)
		if distinct := slices.Compact(slices.Sorted(maps.Values(known))); len(distinct) != len(known) || len(known) > 0 && (distinct[0] != 1 || distinct[len(distinct)-1] != uint32(len(known))) {
			t.Errorf("seed %d: codes %v of %d lists", seed, distinct, len(known))
		}
	}
}

// checkLists reads lists by their codes, in every way there is.
func checkLists(t *testing.T, r Lists, known map[string]uint32) {
	t.Helper()
	for text, code := range known {
		ids := r.UUIDs(nil, code)
		if fmt.Sprint(ids) != text && (len(ids) > 0 || text != "[]") {
			t.Errorf("list %d is %v, want %s", code, ids, text)
		}
		elements := r.List([]uint32{9}, code)
		if elements[0] != 9 || len(elements)-1 != len(ids) || r.Len(code) != len(ids) {
			t.Fatalf("list %d has elements %v, want %d behind a 9", code, elements, len(ids))
		}
		for i, e := range elements[1:] {
			if r.Element(e) != ids[i] {
				t.Errorf("element %d of list %d is %v, want %v", i, code, r.Element(e), ids[i])
			}
			if record := string(r.Record(e)); len(record) < 5 || record[5:] != ids[i].String() {
				t.Errorf("record of element %v is %q", ids[i], record)
			}
		}
	}
	if len(r.List(nil, 0)) != 0 || r.Len(0) != 0 || len(r.UUIDs(nil, 0)) != 0 {
		t.Error("null has elements")
	}
}

// TestLists_Zero reads what no list is in.
func TestLists_Zero(t *testing.T) {
	checkLists(t, Lists{}, nil)
	checkLists(t, NewListDict(1).Reader(), nil)
}

// TestListsWith finds lists by their elements, at every length of the sequence around a
// restart and a word of the set.
func TestListsWith(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	d := NewListDict(1)
	lists := [][]uuid.UUID{nil} // by code
	for len(lists) < 300 {
		for _, list := range randomLists(rng, 7) {
			if code := internUUIDs(t, d, list); int(code) == len(lists) {
				lists = append(lists, list)
			}
		}
		for wanted := range uint32(16) { // a set of elements
			has := func(element uint32) bool { return wanted>>(element-1)&1 == 1 }
			found := d.ListsWith([]uint64{uint64(wanted) << 1}, func() bool { return false })
			for code, list := range lists {
				want := slices.ContainsFunc(list, func(id uuid.UUID) bool { return has(d.FindElement(id)) })
				if got := found[code/64]>>(code%64)&1 == 1; got != want {
					t.Fatalf("%d lists: list %d of elements %v is found: %t", d.Len(), code, d.List(nil, uint32(code)), got)
				}
			}
		}
	}
}

// TestIDFilter has no false negative, and as few false positives as it says.
func TestIDFilter(t *testing.T) {
	for _, n := range []int{1, 51, 52, filterFrom, 50_000} {
		var ids []byte
		rng := rand.New(rand.NewPCG(uint64(n), 0))
		random := func() (id uuid.UUID) {
			for i := range id {
				id[i] = byte(rng.Uint32())
			}
			return id
		}
		for range n {
			id := random()
			ids = append(ids, id[:]...)
		}
		f := newIDFilter(hashIDs(ids))
		if want := 8 * filterSize(n); 8*len(f) != want || want > 2*n+64 {
			t.Errorf("%d ids take %d bytes", n, 8*len(f))
		}
		for i := 0; i < len(ids); i += 16 {
			if !f.mayHave(hashID(ids[i : i+16])) {
				t.Fatalf("id %d of %d is not in the filter", i/16, n)
			}
		}
		wrong := 0
		const asked = 20_000
		for range asked {
			if f.mayHave(HashID(random())) {
				wrong++
			}
		}
		if wrong > asked/200 {
			t.Errorf("of %d ids that are not among %d, %d seem to be: want about one in five hundred", asked, n, wrong)
		}
	}
}

// TestIDIndex says of every id a chunk that it is in, of few others, and takes as much as it
// says.
func TestIDIndex(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 5000, 300_000} {
		for _, distinct := range []int{1, 10, n} { // many of a trace
			ids := make([]byte, 0, idSize*n)
			for i := range n {
				id := uuidOf(i % distinct)
				ids = append(ids, id[:]...)
			}
			x := newIDIndex(hashIDs(ids))
			most := 0
			for i := 0; i < n; i += 1 + n/1000 {
				in := x.chunksOf(hashID(ids[idSize*i : idSize*(i+1)]))
				if chunk := i / x.chunk; in[chunk/64]>>(chunk%64)&1 == 0 {
					t.Fatalf("%d ids, %d distinct: id %d is not said to be in chunk %d", n, distinct, i, chunk)
				}
				chunks := 0
				for _, word := range in {
					chunks += bits.OnesCount64(word)
				}
				most = max(most, chunks)
			}
			if distinct == n && most > 40 {
				t.Errorf("%d ids: one is said to be in %d chunks", n, most)
			}
			if size := x.size(); size > n+n/2+16 {
				t.Errorf("%d ids take %d bytes", n, size)
			}
		}
	}
}

// TestColumn_MayHave asks columns for ids that they have and for others, with a filter
// and without, where all seem to be there.
func TestColumn_MayHave(t *testing.T) {
	for _, n := range []int{0, 1, 10, filterFrom - 1, filterFrom, 3 * filterFrom} {
		b := NewBuilder(Spec{Type: UUID, Encoding: Plain}, n)
		b.Null()
		for i := range n {
			id := uuidOf(i + 1)
			b.Bytes(id[:])
		}
		c := b.Build()
		for i := range n {
			if !c.MayHave(HashID(uuidOf(i + 1))) {
				t.Fatalf("%d ids: id %d is not there", n, i)
			}
		}
		wrong := 0
		for i := range 1000 {
			if c.MayHave(HashID(uuidOf(1<<30 + i))) {
				wrong++
			}
		}
		if n < filterFrom && wrong < 1000 || n >= filterFrom && wrong > 40 {
			t.Errorf("%d ids: %d of 1000 others seem to be there", n, wrong)
		}
	}
	data := make([]byte, 16*filterFrom)
	words, spec := []uint64{}, Spec{Type: UUID, Encoding: Plain}
	for i := range filterFrom {
		id := uuidOf(i + 1)
		copy(data[16*i:], id[:])
		words = append(words, uint64(i+1))
	}
	for _, b := range []bool{false, true} {
		c := NewIDs(spec, words, data)
		if b {
			c = PackedIDs(spec, Pack(nil, words)[0], data)
		}
		if hasFilter := c.own.filter != nil; hasFilter == b || !c.MayHave(HashID(uuidOf(7))) || c.MayHave(HashID(uuidOf(1<<30))) != b {
			t.Errorf("brief %v: a filter: %v", b, hasFilter)
		}
		if rows, ok := c.RowsOf(nil, uuidOf(7)); !ok || !slices.Equal(rows, []int32{6}) {
			t.Errorf("brief %v: the rows of an id are %v, %v", b, rows, ok)
		}
		for i, word := range words {
			if got, want := c.Bytes(c.Words().At(i)), uuidOf(int(word)); uuid.UUID(got) != want || c.Words().At(i) != word {
				t.Fatalf("brief %v: row %d is %x, want %v", b, i, got, want)
			}
		}
	}
	coded := NewBuilder(Spec{Type: UUID, Encoding: Dictionary, Dict: NewDict(1)}, 1)
	coded.Null()
	if c := coded.Build(); !c.MayHave(HashID(uuidOf(1))) {
		t.Error("a column with a dictionary says that it does not have an id: it does not know")
	}
}

// TestUnpack reads words of every width from every place in a byte, as the slower
// form does.
func TestUnpack(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for width := uint(1); width <= 64; width++ {
		for bit := range 70 {
			n := rng.IntN(40)
			src := make([]uint64, packedLen(n, int(width))+bit/64+2)
			for i := range src {
				src[i] = rng.Uint64()
			}
			got, want := make([]uint64, n), make([]uint64, n)
			unpack(got, src, bit, width)
			unpackWide(want, src, bit, width)
			if !slices.Equal(got, want) {
				t.Fatalf("%d words of %d bits from bit %d on: %x, want %x", n, width, bit, got, want)
			}
		}
	}
}
