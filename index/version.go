package index

import (
	"iter"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/google/btree"
)

// degree is the degree of the tree's nodes. At 8 a lookup takes 100 to 400 ns, and a new version 0.6 to 1.6
// us and 0.7 to 1.3 kB for each changed entry, from 200 to 20,000 entries: go test ./index -bench .
const degree = 8

// entry is kept behind a pointer, because an edit copies nodes, and a pointer is a third of an entry. That
// halves the cost of a commit (4.3 to 2.4 us for a granule of 2,000).
type entry[V any] struct {
	bound string
	value V
}

func less[V any](a, b *entry[V]) bool { return a.bound < b.bound }

// Version is an immutable state of the index. Reading is safe for any number of goroutines and takes no
// lock. It is a value, so that its owner can hold it without another allocation.
type Version[V any] struct {
	tree   *btree.BTreeG[*entry[V]]
	list   *list[V]   // the tree's entries
	probes *sync.Pool // of *entry[V], for look-ups

	// Tree entries that have another value in this version than in the tree.
	amended [maxAmended]*entry[V]
	values  [maxAmended]V
	n       int
}

// maxAmended bounds the entries with another value than in the tree. Each version copies them: 512 bytes,
// which takes less time than copying a node. Each read of an entry scans them, for 10 ns.
const maxAmended = 32

// New returns a version without entries.
func New[V any]() *Version[V] {
	return &Version[V]{tree: btree.NewG(degree, less[V]), list: new(list[V]), probes: &sync.Pool{New: func() any { return new(entry[V]) }}}
}

// amendmentOf returns the index in amended of a tree entry, -1 if it is not amended.
func (v *Version[V]) amendmentOf(e *entry[V]) int {
	for i, amended := range v.amended[:v.n] {
		if amended == e {
			return i
		}
	}
	return -1
}

// value returns a tree entry's value.
func (v *Version[V]) value(e *entry[V]) V {
	if i := v.amendmentOf(e); i >= 0 {
		return v.values[i]
	}
	return e.value
}

// Len returns the number of entries.
func (v *Version[V]) Len() int { return v.tree.Len() }

// Floor returns the entry that covers key, which has the greatest bound at or below it. O(log n).
func (v *Version[V]) Floor(key string) (bound string, value V, ok bool) {
	e := v.floor(key)
	if e == nil {
		return "", value, false
	}
	return e.bound, v.value(e), true
}

// FloorBytes is Floor for a key in bytes. It allocates nothing.
func (v *Version[V]) FloorBytes(key []byte) (bound string, value V, ok bool) {
	return v.Floor(borrow(key))
}

func (v *Version[V]) floor(key string) (found *entry[V]) {
	probe := v.probe(key)
	v.tree.DescendLessOrEqual(probe, func(e *entry[V]) bool {
		found = e
		return false
	})
	v.done(probe)
	return found
}

// ceiling returns the entry with the least bound at or above a key, nil if there is none.
func (v *Version[V]) ceiling(key string) (found *entry[V]) {
	probe := v.probe(key)
	v.tree.AscendGreaterOrEqual(probe, func(e *entry[V]) bool {
		found = e
		return false
	})
	v.done(probe)
	return found
}

// probe returns an entry to search the tree with. The caller returns it with done.
func (v *Version[V]) probe(key string) *entry[V] {
	e := v.probes.Get().(*entry[V])
	e.bound = key
	return e
}

func (v *Version[V]) done(probe *entry[V]) {
	probe.bound = ""
	v.probes.Put(probe)
}

// Get returns the value whose bound is exactly bound. O(log n).
func (v *Version[V]) Get(bound string) (value V, ok bool) {
	e := v.exact(bound)
	if e == nil {
		return value, false
	}
	return v.value(e), true
}

// exact returns the entry whose bound is exactly bound, or nil.
func (v *Version[V]) exact(bound string) *entry[V] {
	probe := v.probe(bound)
	e, _ := v.tree.Get(probe)
	v.done(probe)
	return e
}

// Overlapping yields, in order, the entries that cover a key in [lo, hi). An empty hi means no upper end.
// O(log n) and then O(1) an entry.
func (v *Version[V]) Overlapping(lo, hi string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if floor, _, ok := v.Floor(lo); ok {
			lo = floor
		}
		v.tree.AscendGreaterOrEqual(&entry[V]{bound: lo}, func(e *entry[V]) bool {
			return (hi == "" || e.bound < hi) && yield(e.bound, v.value(e))
		})
	}
}

// list is a tree's entries in order, built by the first walk over many of them. Versions that differ only
// by amendments share it. It takes 8 bytes an entry.
type list[V any] struct {
	entries atomic.Pointer[[]*entry[V]]
}

// search returns the index of the first entry with a bound at or above key.
func search[V any](entries []*entry[V], key string) int {
	return sort.Search(len(entries), func(i int) bool { return entries[i].bound >= key })
}

// AppendOverlapping appends to dst the values of Overlapping. For many entries it takes a
// third of the time, and a tenth from the second call on.
func (v *Version[V]) AppendOverlapping(dst []V, lo, hi string) []V {
	if entries := v.list.entries.Load(); entries != nil {
		return v.appendListed(dst, *entries, lo, hi)
	}
	before := len(dst)
	dst = v.appendWalked(dst, lo, hi)
	if n := v.tree.Len(); len(dst)-before > n/4 { // costs as much again, but later calls need not walk
		entries := make([]*entry[V], 0, n)
		v.tree.Ascend(func(e *entry[V]) bool {
			entries = append(entries, e)
			return true
		})
		v.list.entries.Store(&entries)
	}
	return dst
}

// appendListed is AppendOverlapping with the list of entries.
func (v *Version[V]) appendListed(dst []V, entries []*entry[V], lo, hi string) []V {
	from, to := search(entries, lo), len(entries)
	if hi != "" {
		to = search(entries, hi)
	}
	if from > 0 && (from == len(entries) || entries[from].bound != lo) {
		from-- // it covers lo
	}
	for ; from < to; from++ {
		dst = append(dst, v.value(entries[from]))
	}
	return dst
}

// appendWalked is AppendOverlapping without the list.
func (v *Version[V]) appendWalked(dst []V, lo, hi string) []V {
	const few = 8 // comparing this many bounds costs as much as a search for the end
	if floor, _, ok := v.Floor(lo); ok {
		lo = floor
	}
	n := 0
	var end *entry[V]
	v.tree.AscendGreaterOrEqual(&entry[V]{bound: lo}, func(e *entry[V]) bool {
		if n++; n <= few && hi != "" && e.bound >= hi {
			return false
		}
		if n == few && hi != "" {
			end = v.ceiling(hi)
		}
		if e == end {
			return false
		}
		dst = append(dst, v.value(e))
		return true
	})
	return dst
}

// All yields every entry in order.
func (v *Version[V]) All() iter.Seq2[string, V] { return v.Overlapping("", "") }

// Edit starts a new version in O(1). It marks this version's nodes as shared. Readers do not see this write
// but other editors do: only one goroutine at a time may edit the versions that derive from one New. The
// store edits under its commit lock.
func (v *Version[V]) Edit() *Edit[V] {
	next := *v
	e := EditOf(&next)
	return &e
}

// Edit is a version under construction. It is not safe for concurrent use.
type Edit[V any] struct {
	next *Version[V]
	own  bool // the tree is not shared with another version

	found *entry[V] // last result of Get, likely amended next
}

// EditOf is Version.Edit in place, for callers with room for the new version. next is a copy of a version,
// and not shared.
func EditOf[V any](next *Version[V]) Edit[V] { return Edit[V]{next: next} }

// tree returns the tree for changes, after cloning it if it is shared.
func (e *Edit[V]) tree() *btree.BTreeG[*entry[V]] {
	if !e.own {
		e.next.tree, e.next.list, e.own = e.next.tree.Clone(), new(list[V]), true
	}
	return e.next.tree
}

// Set adds an entry or replaces the entry with the same bound. O(log n); the first change copies the nodes
// on its path.
func (e *Edit[V]) Set(bound string, value V) {
	e.found = nil
	if old, ok := e.tree().ReplaceOrInsert(&entry[V]{bound, value}); ok {
		e.forget(old)
	}
}

// Amend is Set for a value that contains all of its predecessor's memory: the predecessor may stay alive
// for as long as the new value. It usually changes no node and allocates nothing.
func (e *Edit[V]) Amend(bound string, value V) {
	next, at := e.next, e.found
	if at == nil || at.bound != bound {
		at = next.exact(bound)
	}
	if at == nil {
		e.Set(bound, value)
		return
	}
	if i := next.amendmentOf(at); i >= 0 {
		next.values[i] = value
		return
	}
	if next.n == maxAmended {
		e.settle()
		e.Set(bound, value)
		return
	}
	next.amended[next.n], next.values[next.n] = at, value
	next.n++
}

// settle moves the amended values into the tree. The caller then calls Set, which forgets found.
func (e *Edit[V]) settle() {
	next := e.next
	for i, at := range next.amended[:next.n] {
		e.tree().ReplaceOrInsert(&entry[V]{at.bound, next.values[i]})
	}
	clear(next.amended[:])
	clear(next.values[:])
	next.n = 0
}

// Delete removes the entry with the bound, if there is one.
func (e *Edit[V]) Delete(bound string) {
	e.found = nil
	if old, ok := e.tree().Delete(&entry[V]{bound: bound}); ok {
		e.forget(old)
	}
}

// forget drops the amendment for an entry that is no longer in the tree.
func (e *Edit[V]) forget(old *entry[V]) {
	if i := e.next.amendmentOf(old); i >= 0 {
		var none V
		e.next.n--
		last := e.next.n
		e.next.amended[i], e.next.values[i] = e.next.amended[last], e.next.values[last]
		e.next.amended[last], e.next.values[last] = nil, none
	}
}

// Floor is Version.Floor on the entries so far.
func (e *Edit[V]) Floor(key string) (bound string, value V, ok bool) {
	return e.next.Floor(key)
}

// Get is Version.Get on the entries so far.
func (e *Edit[V]) Get(bound string) (value V, ok bool) {
	if e.found = e.next.exact(bound); e.found == nil {
		return value, false
	}
	return e.next.value(e.found), true
}

// First returns the entry with the least bound.
func (e *Edit[V]) First() (bound string, value V, ok bool) {
	first, ok := e.next.tree.Min()
	if ok {
		bound, value = first.bound, e.next.value(first)
	}
	return bound, value, ok
}

// Between yields the entries with bounds in [lo, hi), in order; an empty hi means no upper
// end. The entries must not be changed meanwhile.
func (e *Edit[V]) Between(lo, hi string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		e.next.tree.AscendGreaterOrEqual(&entry[V]{bound: lo}, func(at *entry[V]) bool {
			return (hi == "" || at.bound < hi) && yield(at.bound, e.next.value(at))
		})
	}
}

// Done returns the new version. The Edit must not be used again.
func (e *Edit[V]) Done() *Version[V] { return e.next }
