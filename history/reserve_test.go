package history_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
)

var errNoMemory = errors.New("no memory")

// TestRefusedMemory refuses memory at each request of an operation, the first, the second and
// so on. A refused operation changes nothing.
func TestRefusedMemory(t *testing.T) {
	const many = 5000
	big := func(i int) history.Value { return history.String(strconv.Itoa(i) + strings.Repeat("x", 60_000)) }
	for _, test := range []struct {
		name string
		// prepare is committed, op refused.
		prepare func(p *pair)
		op      func(w *history.Draft) error
	}{
		{"Child", func(*pair) {}, func(w *history.Draft) error {
			path := make([]string, 1000)
			for i := range path {
				path[i] = strings.Repeat("n", 200) + strconv.Itoa(i)
			}
			_, err := w.Child(history.Top, path...)
			return err
		}},
		{"Change", nil, func(w *history.Draft) error { return w.Change(5, 0, big(1)) }},
		{"Add", nil, func(w *history.Draft) error { return w.Add(0, 0, 5, big(1)) }},
		{"AddAll", nil, func(w *history.Draft) error {
			_, err := w.AddAll([]history.Attribute{0}, []int64{0}, []int64{5}, []history.Value{history.Int(1)})
			return err
		}},
		{"Update", nil, func(w *history.Draft) error { return w.Update(0, big(1)) }},
		{"Remove", func(p *pair) {
			for i := range many {
				a := p.child(history.Top, "a", strings.Repeat("b", i%100), strconv.Itoa(i))
				p.change(1, a, history.Int(int64(i)))
			}
		}, func(w *history.Draft) error { return w.Remove(5, 0) }},
		{"Push", nil, func(w *history.Draft) error { return w.Push(5, 0, big(1)) }},
		{"Pop", func(p *pair) {
			p.child(history.Top, "a")
			p.refused(p.w.Push(1, 0, big(1)), p.o.push(1, 0, big(1)), "Push")
			for i := range many {
				a := p.child(history.Top, "a", "1", strings.Repeat("b", i%100), strconv.Itoa(i))
				p.change(1, a, history.Int(int64(i)))
			}
		}, func(w *history.Draft) error { _, err := w.Pop(5, 0); return err }},
		{"Poll", func(p *pair) {
			p.child(history.Top, "a")
			for i := range many {
				p.refused(p.w.Push(1, 0, history.Int(int64(i))), p.o.push(1, 0, history.Int(int64(i))), "Push")
			}
		}, func(w *history.Draft) error { _, err := w.Poll(5, 0); return err }},
		{"Poll over nulls", func(p *pair) {
			p.child(history.Top, "a")
			for i := range many {
				v := history.Int(int64(i))
				if i%2 == 0 {
					v = history.Value{} // no first use of its attribute
				}
				p.refused(p.w.Push(1, 0, v), p.o.push(1, 0, v), "Push")
			}
		}, func(w *history.Draft) error { _, err := w.Poll(5, 0); return err }},
		{"IncrementInt", nil, func(w *history.Draft) error { return w.IncrementInt(5, 0, 1) }},
		{"IncrementFloat", nil, func(w *history.Draft) error { return w.IncrementFloat(5, 0, 1) }},
		{"Close", func(p *pair) {
			for i := range many {
				p.change(1, p.child(history.Top, strings.Repeat("b", i%100), strconv.Itoa(i)), history.Int(1))
			}
		}, func(w *history.Draft) error { return w.Close(5) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, journal := range []bool{false, true} {
				refused := 0
				for allowed := range 100 {
					if !refuseAfter(t, test.prepare, test.op, allowed, journal) {
						break
					}
					refused++
				}
				if refused == 0 {
					t.Error("it asked for no memory")
				}
				t.Logf("journal %v: refused at %d requests", journal, refused)
			}
		})
	}
}

// TestReserve_FirstChanges makes the first changes of 15,000 attributes in one transaction. The
// reserved bytes are no fewer than the bytes that are taken, and at most 2.5 times as many.
func TestReserve_FirstChanges(t *testing.T) {
	const n = 15_000
	for name, path := range map[string]func(i int) []string{
		"one shape":   func(i int) []string { return []string{"threads", strconv.Itoa(i), "status"} },
		"rare shapes": func(i int) []string { return []string{"of" + strings.Repeat("x", i%3000), strconv.Itoa(i)} },
	} {
		t.Run(name, func(t *testing.T) {
			var reserved int64
			h, err := history.New(history.Options{Reserve: func(bytes int64) error {
				reserved += bytes
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			w, err := h.Begin()
			if err != nil {
				t.Fatal(err)
			}
			var attributes []history.Attribute
			for i := range n {
				a, err := w.Attribute(path(i)...)
				if err != nil {
					t.Fatal(err)
				}
				attributes = append(attributes, a)
			}
			before, err := w.Commit()
			if err != nil || before.Len() < n {
				t.Fatal(err)
			}
			size := h.Size()
			reserved = 0
			if w, err = h.Begin(); err != nil {
				t.Fatal(err)
			}
			for i, a := range attributes {
				if err := w.Change(int64(i), a, history.Int(1)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Commit(); err != nil {
				t.Fatal(err)
			}
			took := h.Size() - size
			t.Logf("%d bytes reserved, %d taken, %d an attribute", reserved, took, took/n)
			if reserved < took || 2*reserved > 5*took {
				t.Errorf("%d bytes reserved, %d taken", reserved, took)
			}
		})
	}
}

// refuseAfter runs an operation with that many requests allowed, and reports whether one was
// refused.
func refuseAfter(t *testing.T, prepare func(*pair), op func(*history.Draft) error, allowed int, journal bool) bool {
	t.Helper()
	requests := -1 << 30 // requests left to allow
	h, err := history.New(history.Options{Journal: journal, Reserve: func(bytes int64) error {
		if bytes < 64<<10 {
			t.Errorf("%d bytes asked for", bytes)
		}
		if requests++; requests > 0 {
			return fmt.Errorf("request %d: %w", requests, errNoMemory)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{tester: t, h: h, o: newOracle(0)}
	p.begin()
	if prepare == nil {
		p.child(history.Top, "a")
	} else {
		prepare(p)
	}
	mirror, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	commit := func() (views []*history.View, o *oracleView) {
		p.w.Prepare()
		if j := p.w.Journal(); j != nil {
			repeated, err := mirror.Replay(j)
			if err != nil {
				t.Fatalf("%d requests granted: %v", allowed, err)
			}
			views = append(views, repeated)
		}
		v, o := p.commit()
		return append(views, v), o
	}
	commit()
	p.begin()
	requests = -allowed
	err = op(p.w)
	if err != nil && !errors.Is(err, errNoMemory) {
		t.Fatalf("%v, want that there is no memory", err)
	}
	if err == nil {
		return false
	}
	requests = -1 << 30
	if n := len(p.o.now.attributes); p.w.Len() != n {
		t.Fatalf("%d requests granted: the writer has %d attributes, want %d", allowed, p.w.Len(), n)
	}
	for i := range p.o.now.attributes {
		a := history.Attribute(i)
		want, _ := p.o.ongoing(a)
		if got, err := p.w.Ongoing(a); err != nil || got.Start != want.Start || !got.Value.Equal(want.Value) {
			t.Fatalf("%d requests granted: attribute %d is %.20v from %d on, %v; want %.20v from %d on",
				allowed, a, got.Value, got.Start, err, want.Value, want.Start)
		}
	}
	if n := len(p.o.now.attributes); n > 0 { // the writer goes on
		p.change(7, history.Attribute(n-1), history.Value{})
	}
	views, o := commit()
	for _, v := range views {
		c := newChecker(t, fmt.Sprintf("%d requests granted", allowed), v, o)
		for i := range o.state.attributes {
			c.at(history.Attribute(i), o.end())
		}
	}
	return true
}

// TestReserve_LongTexts writes names and values that are longer than half a block of texts, so
// that each takes a block. The reserved bytes are no fewer than the bytes that are taken.
func TestReserve_LongTexts(t *testing.T) {
	long := func(i int) string { return strconv.Itoa(i) + strings.Repeat("x", 33_000) }
	for name, write := range map[string]func(w *history.Draft, i int) error{
		"names": func(w *history.Draft, i int) error {
			_, err := w.Attribute(long(i))
			return err
		},
		"strings": func(w *history.Draft, i int) error { return w.Change(int64(i), 0, history.String(long(i))) },
		"bytes":   func(w *history.Draft, i int) error { return w.Change(int64(i), 0, history.Bytes([]byte(long(i)))) },
	} {
		t.Run(name, func(t *testing.T) {
			var reserved int64
			h, err := history.New(history.Options{Reserve: func(bytes int64) error {
				reserved += bytes
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			w, err := h.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Attribute("a"); err != nil {
				t.Fatal(err)
			}
			for i := range 500 {
				if err := write(w, i); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Commit(); err != nil {
				t.Fatal(err)
			}
			took := h.Size()
			t.Logf("%d bytes reserved, %d taken", reserved, took)
			if reserved < took || 2*reserved > 3*took {
				t.Errorf("%d bytes reserved, %d taken", reserved, took)
			}
		})
	}
}
