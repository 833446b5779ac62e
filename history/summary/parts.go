package summary

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/tile"
)

// partLen is how many attributes a query's part has. Tests lower it.
var partLen = 128

// leastParts is how many parts justify a goroutine.
const leastParts = 4

// answers is a query's results by attribute, in parts.
type answers[T any] struct {
	n, of int // attributes, and attributes in a part
	parts []answer[T]
}

// answer is the results for a part's attributes.
type answer[T any] struct {
	all []T
	of  []int // start of each attribute's results, and the end
}

// prepare begins an answer for n attributes, in its old memory.
func (a *answers[T]) prepare(n int) {
	old := a.parts[:cap(a.parts)]
	a.n, a.of = n, partLen
	parts := partsOf(n)
	if len(old) < parts {
		old = append(make([]answer[T], 0, parts), old...)[:parts]
	}
	a.parts = old[:parts]
	for i := range a.parts {
		a.parts[i].all, a.parts[i].of = a.parts[i].all[:0], a.parts[i].of[:0]
	}
}

// at returns attribute i's results.
func (a *answers[T]) at(i int) []T {
	p := &a.parts[i/a.of]
	i %= a.of
	return p.all[p.of[i]:p.of[i+1]:p.of[i+1]]
}

// begin begins the next attribute in a part.
func (a *answer[T]) begin() { a.of = append(a.of, len(a.all)) }

// question is a query for attributes' intervals in a range. One goroutine per processor answers its parts.
type question struct {
	*Pyramid
	attributes []history.Attribute // nil: all
	n          int                 // attributes
	from, to   int64
	parts      int
	workers    int          // goroutines
	next       atomic.Int64 // next part
}

// ask answers a query with sinks, one for each goroutine. A sink gets parts in rising order. The error
// comes from reading a file.
func (p *Pyramid) ask(attributes []history.Attribute, from, to int64, sinks []sink) error {
	q := question{Pyramid: p, attributes: attributes, n: p.count(attributes), from: from, to: to, workers: len(sinks)}
	q.parts = partsOf(q.n)
	errs := make([]error, len(sinks))
	together(len(sinks), func(i int) { errs[i] = q.answer(sinks[i]) })
	return cmp.Or(errs...)
}

// count returns how many attributes a query has.
func (p *Pyramid) count(attributes []history.Attribute) int {
	if attributes == nil {
		return p.view.Len()
	}
	return len(attributes)
}

// workers returns how many goroutines to use.
func workers(attributes int) int {
	return max(1, min(runtime.GOMAXPROCS(0), (partsOf(attributes)+leastParts-1)/leastParts))
}

// partsOf returns how many parts attributes make.
func partsOf(attributes int) int { return (attributes + partLen - 1) / partLen }

// together calls run concurrently with each i below n, and waits for all.
func together(n int, run func(i int)) {
	var others sync.WaitGroup
	for i := 1; i < n; i++ {
		others.Go(func() { run(i) })
	}
	run(0)
	others.Wait()
}

// answer passes the query's parts to a sink, until none is left.
func (q *question) answer(s sink) error {
	w := q.walkers.Get().(*walker)
	w.p, w.from, w.to, w.lane = q.Pyramid, q.from, q.to, -1
	var err error
	for lo, hi := q.take(); lo < hi && err == nil; lo, hi = q.take() {
		for part := lo; part < hi && err == nil; part++ {
			s.part(part)
			err = w.all(q.part(w, part*partLen, min((part+1)*partLen, q.n)), s)
			s.end()
		}
	}
	if err != nil {
		q.next.Store(int64(q.parts)) // others need not go on
	}
	w.p, w.tiles, w.rest, w.nodes, w.ongoing = nil, nil, tile.Run{}, nil, nil
	w.together.shrink()
	q.walkers.Put(w)
	return err
}

// take returns the parts [lo, hi) that a goroutine answers next: many at first, so that goroutines seldom
// share a lane or a cache line, and a single part at the end, because the others wait for it.
func (q *question) take() (lo, hi int) {
	for {
		lo := int(q.next.Load())
		hi := lo + max(1, (q.parts-lo)/(6*q.workers))
		if lo >= q.parts {
			return 0, 0
		}
		if q.next.CompareAndSwap(int64(lo), int64(hi)) {
			return lo, hi
		}
	}
}

// part returns the query's attributes [lo, hi).
func (q *question) part(w *walker, lo, hi int) []history.Attribute {
	if q.attributes != nil {
		return q.attributes[lo:hi]
	}
	w.some = w.some[:0]
	for a := lo; a < hi; a++ {
		w.some = append(w.some, history.Attribute(a))
	}
	return w.some
}
