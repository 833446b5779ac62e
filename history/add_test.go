package history_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// columns is the arguments of AddAll.
type columns struct {
	attributes   []history.Attribute
	starts, ends []int64
	values       []history.Value
}

func (c *columns) append(a history.Attribute, start, end int64, v history.Value) {
	c.attributes = append(c.attributes, a)
	c.starts, c.ends, c.values = append(c.starts, start), append(c.ends, end), append(c.values, v)
}

// addAll gives both the same intervals, the oracle one by one, and returns the number added.
func (p *pair) addAll(c *columns) int {
	p.Helper()
	added, err := p.w.AddAll(c.attributes, c.starts, c.ends, c.values)
	for i, a := range c.attributes {
		r := p.o.add(a, c.starts[i], c.ends[i], c.values[i])
		if i == added {
			p.refused(err, r, "AddAll, interval %d of %d", i, len(c.attributes))
			return added
		}
		p.refused(nil, r, "AddAll, interval %d of %d, of which %d were added", i, len(c.attributes), added)
	}
	p.refused(err, nil, "AddAll of %d", len(c.attributes))
	if added != len(c.attributes) {
		p.Fatalf("AddAll added %d of %d", added, len(c.attributes))
	}
	return added
}

// TestAddAll adds intervals of new and known attributes, often repeated within a call, some of
// them wrong. The effect and the error of a call equal those of separate Adds.
func TestAddAll(t *testing.T) {
	seeds := effort.Less(uint64(8), 8)
	if effort.Race { // one goroutine adds
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			p := newPair(t, -50)
			p.begin()
			now, wrong := int64(-50), 0
			var held []*checker
			for call := range 120 {
				if n := len(p.o.now.attributes); n < 150 {
					for i := range 1 + rng.IntN(20) {
						p.child(history.Top, fmt.Sprintf("%c/%d", 'a'+rune(i%3), n+i))
					}
				}
				c := someIntervals(rng, p, &now)
				if p.addAll(c) < len(c.attributes) {
					wrong++
				}
				now++
				switch {
				case rng.IntN(12) == 0:
					p.abort()
					p.begin()
				case rng.IntN(3) == 0:
					v, o := p.commit()
					check := newChecker(t, fmt.Sprintf("call %d", call), v, o)
					check.ask(rng, 10)
					held = append(held, check)
					p.begin()
				}
				if last, _ := p.o.now.last(); last.is {
					now = max(now, last.at+1)
				}
			}
			p.close(now + 5)
			v, o := p.commit()
			newChecker(t, "closed", v, o).ask(rng, 200)
			for _, c := range held {
				c.name += ", later"
				c.ask(rng, 10)
			}
			if wrong < 10 || wrong > 110 {
				t.Errorf("%d of 120 calls had something wrong", wrong)
			}
		})
	}
}

// TestAddAll_FirstTwice adds two intervals from the start to an attribute that has no place before the call.
func TestAddAll_FirstTwice(t *testing.T) {
	p := newPair(t, -50)
	p.begin()
	a := p.child(history.Top, "a")
	c := new(columns)
	c.append(a, -50, 1, history.Int(1))
	c.append(a, -50, 2, history.Int(2))
	if added := p.addAll(c); added != 1 {
		t.Errorf("AddAll added %d intervals, want 1", added)
	}
}

// someIntervals returns intervals of known attributes from now on, some of them wrong.
func someIntervals(rng *rand.Rand, p *pair, now *int64) *columns {
	c := new(columns)
	known := p.o.now.attributes
	next := map[history.Attribute]int64{}
	for range rng.IntN(300) {
		a := history.Attribute(rng.IntN(len(known)))
		start, again := next[a]
		if !again {
			start = known[a].began
		}
		*now += rng.Int64N(2)
		end := max(*now, start)
		v := anyOfKind(rng, a)
		switch rng.IntN(1000) {
		case 0:
			start--
		case 1:
			end = start - 1
		case 2:
			v = history.Bool(true)
		case 3:
			v = history.String("\xff")
		case 4:
			a += history.Attribute(len(known))
		}
		next[a] = end + 1
		c.append(a, start, end, v)
	}
	return c
}

// anyOfKind returns null or a value of the attribute's kind, which is never bool.
func anyOfKind(rng *rand.Rand, a history.Attribute) history.Value {
	n := rng.IntN(5)
	switch {
	case n == 0:
		return history.Value{}
	case a%4 == 1:
		return history.Int(int64(n))
	case a%4 == 2:
		return history.Float(float64(n))
	case a%4 == 3:
		return history.Bytes([]byte{byte(n)})
	}
	return history.String(fmt.Sprint("state ", n))
}

// TestAddAllColumns: columns of different lengths are an error.
func TestAddAllColumns(t *testing.T) {
	p := newPair(t, 0)
	p.begin()
	a := p.child(history.Top, "a")
	for _, c := range []columns{
		{[]history.Attribute{a}, nil, []int64{1}, []history.Value{{}}},
		{[]history.Attribute{a}, []int64{0}, []int64{1, 2}, []history.Value{{}}},
		{[]history.Attribute{a}, []int64{0}, []int64{1}, nil},
		{nil, []int64{0}, []int64{1}, []history.Value{{}}},
	} {
		if n, err := p.w.AddAll(c.attributes, c.starts, c.ends, c.values); n != 0 || !errors.Is(err, history.ErrQuery) {
			t.Errorf("%v: %d added, %v", c, n, err)
		}
	}
	p.addAll(&columns{})
	v, o := p.commit()
	newChecker(t, "nothing added", v, o).at(a, 0)
}

// TestAddAllUnknown adds to an unknown attribute the interval due next for another, which had
// its place in the batch before.
func TestAddAllUnknown(t *testing.T) {
	p := newPair(t, 0)
	p.begin()
	a := p.child(history.Top, "a")
	p.add(a, 0, 0, history.Int(1))
	for n := range effort.Less(int64(200), 4) {
		c := new(columns)
		began := p.o.now.attributes[a].began
		for i := range n {
			c.append(a, began+i, began+i, history.Int(i))
		}
		c.append(a+1, began+n, began+n, history.Int(1))
		p.addAll(c)
	}
	v, o := p.commit()
	newChecker(t, "all known", v, o).ask(rand.New(rand.NewPCG(1, 1)), 50)
}

// TestAddKinds adds values of each kind after nulls, and then after values of each kind: the
// first value fixes the kind of an attribute.
func TestAddKinds(t *testing.T) {
	ofKinds := []history.Value{history.Int(0), history.Bool(false), history.Float(0), history.String(""), history.Bytes(nil)}
	for _, nulls := range []int{0, 1, 3} {
		for _, first := range ofKinds {
			for _, second := range ofKinds {
				t.Run(fmt.Sprintf("%d nulls, %v, %v", nulls, first.Kind(), second.Kind()), func(t *testing.T) {
					p := newPair(t, 0)
					p.begin()
					a := p.child(history.Top, "a")
					values := append(make([]history.Value, nulls), first, second, history.Value{}, first, second)
					for end, v := range values {
						p.add(a, p.o.now.attributes[a].began, int64(end), v)
					}
					view, o := p.commit()
					newChecker(t, "kinds", view, o).ask(rand.New(rand.NewPCG(1, 1)), 5)
				})
			}
		}
	}
}

// TestAddToTheEnd adds an interval that ends at the last representable instant.
func TestAddToTheEnd(t *testing.T) {
	p := newPair(t, 0)
	p.begin()
	a := p.child(history.Top, "a")
	p.add(a, 0, 0, history.Int(1))
	c := new(columns)
	for i := int64(1); i < 9; i++ {
		c.append(a, i, i, history.Int(1))
	}
	c.append(a, 9, math.MaxInt64, history.Int(2))
	c.append(a, math.MinInt64, math.MaxInt64, history.Int(3))
	p.addAll(c)
	want, _ := p.o.ongoing(a)
	if got, err := p.w.Ongoing(a); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	v, o := p.commit()
	newChecker(t, "to the end", v, o).ask(rand.New(rand.NewPCG(1, 1)), 20)
}

// TestAddAllAllocates: intervals that fit the existing blocks need no allocation.
func TestAddAllAllocates(t *testing.T) {
	_, tx := begun(t)
	defer tx.Abort()
	a, err := tx.Attribute("a")
	if err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	add := func() {
		if _, err := tx.AddAll([]history.Attribute{a}, []int64{now}, []int64{now}, []history.Value{history.Int(now)}); err != nil {
			t.Fatal(err)
		}
		now++
	}
	add()
	if n := testing.AllocsPerRun(50, add); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
