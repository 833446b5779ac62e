package history_test

import (
	"math"

	"github.com/granarydb/granary/history"
)

// pair applies each operation to a history and to the oracle, and compares the errors.
type pair struct {
	tester
	h *history.History
	w *history.Draft
	o *oracle

	commits  int
	dropping bool // a drop is pending, at an instant that the history reports
}

func newPair(t tester, start int64) *pair {
	h, err := history.New(history.Options{Start: start})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return &pair{tester: t, h: h, o: newOracle(start)}
}

func (p *pair) refused(err error, r refusals, what string, args ...any) {
	if problem := r.match(err); problem != "" {
		p.Fatalf(what+": %s", append(args, problem)...)
	}
}

func (p *pair) begin() {
	w, err := p.h.Begin()
	p.refused(err, p.o.begin(), "Begin")
	p.w = w
}

func (p *pair) commit() (*history.View, *oracleView) {
	v, err := p.w.Commit()
	p.refused(err, nil, "Commit")
	if p.dropping {
		p.dropping = false
		if start := v.Start(); start > p.o.view().start {
			p.o.drop = moment{start, true}
		}
	}
	if p.commits++; p.commits&(p.commits-1) == 0 || v.Closed() { // compares everything
		p.refused(history.CheckLanes(p.h), nil, "CheckLanes")
	}
	return v, p.o.commit()
}

// beginDrop begins a transaction that writes nothing.
func (p *pair) beginDrop() {
	w, err := p.h.BeginDrop()
	p.refused(err, nil, "BeginDrop")
	p.w = w
	p.o.beginDrop()
}

func (p *pair) abort() {
	p.w.Abort()
	p.o.abort()
}

func (p *pair) child(base history.Attribute, path ...string) history.Attribute {
	a, err := p.w.Child(base, path...)
	want, r := p.o.child(base, path...)
	p.refused(err, r, "Child(%d, %q)", base, path)
	if err == nil && a != want {
		p.Fatalf("Child(%d, %q) = %d, want %d", base, path, a, want)
	}
	return a
}

func (p *pair) change(t int64, a history.Attribute, v history.Value) {
	p.refused(p.w.Change(t, a, v), p.o.change(t, a, v), "Change(%d, %d, %.20v)", t, a, v)
}

func (p *pair) add(a history.Attribute, start, end int64, v history.Value) {
	p.refused(p.w.Add(a, start, end, v), p.o.add(a, start, end, v), "Add(%d, %d, %d, %.20v)", a, start, end, v)
}

// drop drops the states before t, with the next commit.
func (p *pair) drop(t int64) {
	p.w.DropBefore(t)
	p.o.drop = moment{t, true}
}

// dropBytes does the same up to an instant that the history chooses.
func (p *pair) dropBytes(n int64) {
	p.w.DropBytes(n, math.MaxInt64)
	p.dropping = true
}

func (p *pair) close(t int64) {
	p.refused(p.w.Close(t), p.o.close(t), "Close(%d)", t)
}
