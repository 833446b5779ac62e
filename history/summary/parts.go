package summary

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/tile"
)

// partLen is the attributes of a part of a question. Tests lower it.
var partLen = 128

// leastParts is the parts of a question that are worth a goroutine.
const leastParts = 4

// answers is the results of the attributes of a question, by part.
type answers[T any] struct {
	n, of int // attributes, and attributes of a part
	parts []answer[T]
}

// answer is the results of the attributes of a part.
type answer[T any] struct {
	all []T
	of  []int // where those of each attribute begin, and behind the last
}

// prepare begins an answer for attributes, in its old memory.
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

// at returns the results of attribute i.
func (a *answers[T]) at(i int) []T {
	p := &a.parts[i/a.of]
	i %= a.of
	return p.all[p.of[i]:p.of[i+1]:p.of[i+1]]
}

// begin begins the next attribute of a part.
func (a *answer[T]) begin() { a.of = append(a.of, len(a.all)) }

// question is one for the intervals of attributes in a range. Parts of it are answered by as many goroutines as
// there are processors.
type question struct {
	*Pyramid
	attributes []history.Attribute // nil: all
	n          int                 // attributes
	from, to   int64
	parts      int
	workers    int          // goroutines
	next       atomic.Int64 // part
}

// ask answers a question with sinks, one for each goroutine. A sink is given parts in rising order. The error is that of
// reading a file.
func (p *Pyramid) ask(attributes []history.Attribute, from, to int64, sinks []sink) error {
	q := question{Pyramid: p, attributes: attributes, n: p.count(attributes), from: from, to: to, workers: len(sinks)}
	q.parts = partsOf(q.n)
	errs := make([]error, len(sinks))
	together(len(sinks), func(i int) { errs[i] = q.answer(sinks[i]) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// count returns the number of attributes of a question.
func (p *Pyramid) count(attributes []history.Attribute) int {
	if attributes == nil {
		return p.view.Len()
	}
	return len(attributes)
}

// workers returns the number of goroutines for attributes.
func workers(attributes int) int {
	return max(1, min(runtime.GOMAXPROCS(0), (partsOf(attributes)+leastParts-1)/leastParts))
}

// partsOf returns the number of parts of attributes.
func partsOf(attributes int) int { return (attributes + partLen - 1) / partLen }

// together calls run with each i below n, and waits for all.
func together(n int, run func(i int)) {
	var others sync.WaitGroup
	for i := 1; i < n; i++ {
		others.Go(func() { run(i) })
	}
	run(0)
	others.Wait()
}

// answer gives parts of a question to a sink, until there is none left.
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

// take returns the parts [lo, hi) that a goroutine answers next: many at first, so that goroutines seldom share a lane or
// a line of the cache, and one at last, for which the others wait.
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

// part returns attributes [lo, hi) of the question.
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
