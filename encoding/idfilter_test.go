package encoding

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/effort"
)

// TestIDFilter has no false negative, and no more false positives than documented.
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

// TestIDIndex finds the chunk of every id and few others, in the documented size.
func TestIDIndex(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 5000, 300_000} {
		if effort.Brief() && n > 5000 {
			continue // one goroutine looks
		}
		for _, distinct := range []int{1, 10, n} { // many of a trace
			ids := make([]byte, 0, idSize*n)
			for i := range n {
				id := idOf(i % distinct)
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
			id := idOf(i + 1)
			b.Bytes(id[:])
		}
		c := b.Build()
		for i := range n {
			if !c.MayHave(HashID(idOf(i + 1))) {
				t.Fatalf("%d ids: id %d is not there", n, i)
			}
		}
		wrong := 0
		for i := range 1000 {
			if c.MayHave(HashID(idOf(1<<30 + i))) {
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
		id := idOf(i + 1)
		copy(data[16*i:], id[:])
		words = append(words, uint64(i+1))
	}
	for _, b := range []bool{false, true} {
		c := NewIDs(spec, words, data)
		if b {
			c = PackedIDs(spec, Pack(nil, words)[0], data)
		}
		if hasFilter := c.own.filter != nil; hasFilter == b || !c.MayHave(HashID(idOf(7))) || c.MayHave(HashID(idOf(1<<30))) != b {
			t.Errorf("brief %v: a filter: %v", b, hasFilter)
		}
		if rows, ok := c.RowsOf(nil, idOf(7)); !ok || !slices.Equal(rows, []int32{6}) {
			t.Errorf("brief %v: the rows of an id are %v, %v", b, rows, ok)
		}
		for i, word := range words {
			if got, want := c.Bytes(c.Words().At(i)), idOf(int(word)); uuid.UUID(got) != want || c.Words().At(i) != word {
				t.Fatalf("brief %v: row %d is %x, want %v", b, i, got, want)
			}
		}
	}
	coded := NewBuilder(Spec{Type: UUID, Encoding: Dictionary, Dict: dict.NewValues(1)}, 1)
	coded.Null()
	if c := coded.Build(); !c.MayHave(HashID(idOf(1))) {
		t.Error("a column with a dictionary says that it does not have an id: it does not know")
	}
}
