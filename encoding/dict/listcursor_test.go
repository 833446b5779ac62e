package dict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// deepLists returns lists that have much in common with those before, a few of them long.
func deepLists(rng *rand.Rand, n int) [][]uuid.UUID {
	lists := randomLists(rng, n)
	for i := range lists {
		if depth := rng.IntN(20); depth == 0 {
			lists[i] = stackOf(i, 100+rng.IntN(300))
		} else if depth > 3 {
			lists[i] = stackOf(rng.IntN(2*n), depth)
		}
	}
	return lists
}

// orders are codes up to n, as a cursor may be asked for them.
func orders(rng *rand.Rand, n int) map[string][]uint32 {
	var all, gaps, anyhow []uint32
	for code := range uint32(n + 1) {
		all = append(all, code)
		if rng.IntN(20) == 0 {
			gaps = append(gaps, code)
		}
		anyhow = append(anyhow, uint32(rng.IntN(n+1)))
	}
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	return map[string][]uint32{
		"all": all, "gaps": gaps, "anyhow": anyhow, "backwards": backwards,
		"again": slices.Concat(slices.Repeat([]uint32{uint32(n)}, 2), []uint32{0, 0}, all[n/2:], all),
	}
}

// TestListCursor reads lists of one dictionary and of several in all orders, as List and
// UUIDs do, and lists that came since too.
func TestListCursor(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		one, two := NewLists(7), NewLists(7)
		mustLists(t, one, deepLists(rng, 1+rng.IntN(300)))
		mustLists(t, two, deepLists(rng, 1+rng.IntN(300)))
		u := NewUnion(one, two)
		for range one.Len() + two.Len() {
			u.Add(0, uint32(rng.IntN(one.Len()+1)))
			u.Add(1, uint32(rng.IntN(two.Len()+1)))
		}
		for name, of := range map[string]struct {
			lists ListView
			n     int
		}{"one": {one.View(), one.Len()}, "union": {u.View(), u.Len()}} {
			c := of.lists.Cursor()
			for order, codes := range orders(rng, of.n) {
				checkCursor(t, fmt.Sprintf("seed %d: %s, %s", seed, name, order), &c, of.lists, codes)
			}
		}
		c := one.View().Cursor()
		c.Move(uint32(one.Len()))
		mustLists(t, one, deepLists(rng, 50))
		checkCursor(t, "later", &c, one.View(), orders(rng, one.Len())["all"])
	}
}

func checkCursor(t *testing.T, name string, c *ListCursor, of ListView, codes []uint32) {
	t.Helper()
	for _, code := range codes {
		c.Move(code)
		if elements, ids := of.List(nil, code), of.UUIDs(nil, code); !slices.Equal(c.Elements(), elements) || !slices.Equal(c.UUIDs(), ids) {
			t.Fatalf("%s: list %d is %v, %v; want %v, %v", name, code, c.Elements(), c.UUIDs(), elements, ids)
		}
	}
}

// TestListCursor_Nothing: no dictionary, no list, and no element are no trouble.
func TestListCursor_Nothing(t *testing.T) {
	for name, lists := range map[string]ListView{
		"zero": {}, "no dictionary": NewUnion().View(), "no list": NewLists(1).View(), "union": NewUnion(NewLists(1)).View(),
	} {
		c := lists.Cursor()
		for range 2 {
			if c.Move(0); len(c.Elements()) != 0 || len(c.UUIDs()) != 0 {
				t.Errorf("%s: %v", name, c.Elements())
			}
		}
		if lists, members := lists.All(); lists != 0 || members != 0 {
			t.Errorf("%s: %d lists of %d elements", name, lists, members)
		}
	}
	d := NewLists(1)
	c := d.View().Cursor()
	if c.Move(mustLists(t, d, [][]uuid.UUID{{}})[0]); len(c.UUIDs()) != 0 {
		t.Errorf("the list without elements has %v", c.UUIDs())
	}
}

// TestLists_Members counts the elements of distinct lists.
func TestLists_Members(t *testing.T) {
	d, other := NewLists(1), NewLists(1)
	lists := deepLists(rand.New(rand.NewPCG(1, 2)), 200)
	known, members := map[string]bool{}, 0
	for _, list := range append(lists, lists[:50]...) {
		mustLists(t, d, [][]uuid.UUID{list})
		if text := fmt.Sprint(list); !known[text] {
			known[text] = true
			members += len(list)
		}
	}
	mustLists(t, other, [][]uuid.UUID{stackOf(1, 10), stackOf(2, 20)})
	if d.Members() != members {
		t.Errorf("%d elements of lists, want %d", d.Members(), members)
	}
	if lists, all := NewUnion(d, other).View().All(); lists != d.Len()+2 || all != members+30 {
		t.Errorf("%d lists of %d elements, want %d of %d", lists, all, d.Len()+2, members+30)
	}
}

// TestListCursor_Concurrent reads lists while others are added.
func TestListCursor_Concurrent(t *testing.T) {
	d := NewLists(1)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			c := d.View().Cursor()
			for seen := 0; seen < 2000; {
				members := 0
				seen = d.Len()
				for code := range uint32(seen) {
					c.Move(code + 1)
					members += len(c.UUIDs())
					if !slices.Equal(c.UUIDs(), d.UUIDs(nil, code+1)) {
						t.Errorf("list %d is another one", code+1)
						return
					}
				}
				if members > d.Members() {
					t.Errorf("%d lists have %d elements, all have %d", seen, members, d.Members())
				}
			}
		})
	}
	for i := range 100 {
		var lists [][]uuid.UUID
		for k := range 25 {
			lists = append(lists, append(stackOf(i, 20), uuidOf(20*i+k%20)), append(stackOf(k, 20), uuidOf(i)))
		}
		mustLists(t, d, lists)
	}
	for i := range 2000 {
		mustLists(t, d, [][]uuid.UUID{stackOf(i, 30)})
	}
	readers.Wait()
}

func TestListCursor_Allocations(t *testing.T) {
	d := NewLists(1)
	mustLists(t, d, deepLists(rand.New(rand.NewPCG(3, 4)), 300))
	c := d.View().Cursor()
	allocates(t, "Move", 0, func() {
		for code := range uint32(d.Len() + 1) {
			c.Move(code)
		}
	})
}

// BenchmarkListCursor reads all lists, 20 elements each, in the order of their codes.
func BenchmarkListCursor(b *testing.B) {
	const n = 100_000
	d := NewLists(1)
	for lo := 0; lo < n; lo += 1000 {
		var lists [][]uuid.UUID
		for i := range 1000 {
			lists = append(lists, stackOf(lo+i, 20))
		}
		mustLists(b, d, lists)
	}
	for name, read := range map[string]func(c *ListCursor, code uint32){
		"way=cursor": func(c *ListCursor, code uint32) { c.Move(code) },
		"way=one":    func(_ *ListCursor, code uint32) { d.List(make([]uint32, 0, 20), code) },
	} {
		b.Run(name, func(b *testing.B) {
			c := d.View().Cursor()
			for b.Loop() {
				for code := range uint32(d.Len()) {
					read(&c, code+1)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(d.Len()), "ns/list")
		})
	}
}
