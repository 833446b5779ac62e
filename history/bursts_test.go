package history_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// burst is a history written in a pattern that is hard on lanes and tiles.
type burst struct {
	name       string
	attributes int
	steps      int
	start      int64
	gap        func(*rand.Rand) int64                            // from step to step, at least 2; default: up to 1000
	pick       func(*rand.Rand, int) int                         // the attribute of a step, out of a number; default: any
	together   int                                               // attributes written at one instant; default 1
	value      func(*rand.Rand, history.Attribute) history.Value // default: small numbers, rarely null
	commit     func(*rand.Rand) int                              // steps in a transaction; default: up to 2000
	added      int                                               // one in this many attributes is fed by Add; 0: none
	dropEvery  int                                               // commits between drops of old tiles; 0: never
}

func anyOf(rng *rand.Rand, n int) int { return rng.IntN(n) }

func smallNumber(rng *rand.Rand, _ history.Attribute) history.Value {
	if n := rng.Int64N(12); n > 0 {
		return history.Int(n)
	}
	return history.Value{}
}

// anyValue returns a value of any size. Its kind depends on the attribute's number.
func anyValue(rng *rand.Rand, a history.Attribute) history.Value {
	if rng.IntN(6) == 0 {
		return history.Value{}
	}
	switch a % 6 {
	case 0:
		return history.Int(int64(rng.Uint64()) >> rng.IntN(64))
	case 1:
		return history.Float(math.Float64frombits(rng.Uint64()))
	case 2:
		return history.Bool(rng.IntN(2) == 0)
	case 3:
		return history.String("text " + strconv.Itoa(rng.IntN(1000)))
	case 4:
		return history.Int([]int64{math.MinInt64, math.MaxInt64, -1, 0}[rng.IntN(4)])
	}
	return history.Bytes([]byte{byte(rng.IntN(256)), byte(rng.IntN(2))})
}

// newTexts returns texts that mostly do not come again, beside some that do, and beside numbers.
// Its kind depends on the attribute's number.
func newTexts(rng *rand.Rand, a history.Attribute) history.Value {
	switch n := rng.Uint64(); {
	case n%7 == 0:
		return history.Value{}
	case a%5 == 3:
		return history.Int(int64(n))
	case n%3 == 0:
		return history.String("state " + strconv.Itoa(int(n%50)))
	default:
		return history.String(strings.Repeat("x", int(n%40)) + strconv.FormatUint(n, 36))
	}
}

var bursts = []burst{
	{name: "one attribute a thousand times busier", attributes: 100, steps: 20_000, pick: func(rng *rand.Rand, n int) int {
		return max(0, rng.IntN(1000+n)-1000)
	}},
	{name: "busy ones in turn", attributes: 70, steps: 20_000, pick: busyInTurn()},
	{name: "many tiles in which some have no end", attributes: 64, steps: 150_000, commit: func(*rand.Rand) int { return 4000 }, pick: func(rng *rand.Rand, n int) int {
		if rng.IntN(20_000) == 0 {
			return rng.IntN(n)
		}
		return rng.IntN(40)
	}},
	{name: "all at the same instant", attributes: 200, steps: 100, together: 200},
	{name: "most at the same instant, some added", attributes: 300, steps: 80, together: 250, added: 4},
	{name: "long gaps", attributes: 40, steps: 3000, start: math.MinInt64, gap: func(rng *rand.Rand) int64 {
		if rng.IntN(60) == 0 {
			return 1<<57 + rng.Int64N(1<<57)
		}
		return 2 + rng.Int64N(1<<rng.IntN(40))
	}},
	{name: "gaps of all sizes and values of all sizes", attributes: 90, steps: 15_000, start: -1 << 60, added: 5, value: anyValue, gap: func(rng *rand.Rand) int64 {
		return 2 + rng.Int64N(1<<rng.IntN(46))
	}},
	{name: "every instant but one", attributes: 3, steps: 20_000, gap: func(*rand.Rand) int64 { return 2 }},
	{name: "thousands end together", attributes: 3000, steps: 24, together: 3000, value: func(rng *rand.Rand, a history.Attribute) history.Value {
		if rng.IntN(3) == 0 {
			return history.Value{}
		}
		return history.Int(int64(a) % 7)
	}},
	{name: "large transactions", attributes: 64, steps: 20_000, commit: func(*rand.Rand) int { return 9000 }, added: 3},
	{name: "a transaction for each change", attributes: 12, steps: 4000, commit: func(*rand.Rand) int { return 1 }, added: 3},
	{name: "more attributes than changes", attributes: 5000, steps: 3000, added: 7},
	{name: "one value", attributes: 30, steps: 8000, value: func(rng *rand.Rand, _ history.Attribute) history.Value {
		return []history.Value{{}, history.Int(math.MinInt64)}[rng.IntN(2)]
	}},
	{name: "old tiles are dropped", attributes: 130, steps: 30_000, dropEvery: 3, added: 4, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(1000) }},
	{name: "the last ends of quiet ones are dropped", attributes: 64, steps: 40_000, dropEvery: 3, added: 3, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(500) }, pick: func(rng *rand.Rand, n int) int {
		if rng.IntN(200) == 0 {
			return rng.IntN(n)
		}
		return rng.IntN(8)
	}},
	{name: "texts are dropped", attributes: 120, steps: 20_000, dropEvery: 3, added: 4, value: newTexts, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(1000) }},
	{name: "texts of quiet ones are dropped", attributes: 30, steps: 12_000, dropEvery: 2, added: 3, value: newTexts, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(200) }, pick: func(rng *rand.Rand, n int) int {
		if rng.IntN(100) == 0 {
			return rng.IntN(n)
		}
		return rng.IntN(4)
	}},
	{name: "dropped after each change", attributes: 8, steps: 3000, dropEvery: 1, commit: func(*rand.Rand) int { return 1 }},
}

// busyInTurn picks one attribute for most steps, then another one, so that a busy attribute
// becomes quiet.
func busyInTurn() func(*rand.Rand, int) int {
	step := 0
	return func(rng *rand.Rand, n int) int {
		if step++; rng.IntN(20) == 0 {
			return rng.IntN(n)
		}
		return step / 3000 % n
	}
}

func TestBursts(t *testing.T) {
	effort.Slow(t)
	for i, b := range bursts {
		if effort.Race && i%4 > 0 {
			continue // one goroutine writes and asks
		}
		t.Run(b.name, func(t *testing.T) {
			r := newBurstRun(t, b, uint64(i))
			for range b.steps {
				r.step()
			}
			r.finish()
		})
	}
}

// burstRun is a burst in progress.
type burstRun struct {
	tester
	burst
	both    *pair
	states  []history.Attribute
	rng     *rand.Rand
	now     int64
	left    int // steps to the next commit
	commits int
	held    []*checker
	looked  func(*checker) // called with each view that is checked; may be nil
}

func newBurstRun(t tester, b burst, seed uint64) *burstRun {
	if b.gap == nil {
		b.gap = func(rng *rand.Rand) int64 { return 2 + rng.Int64N(1000) }
	}
	if b.pick == nil {
		b.pick = anyOf
	}
	if b.value == nil {
		b.value = smallNumber
	}
	if b.commit == nil {
		b.commit = func(rng *rand.Rand) int { return 1 + rng.IntN(2000) }
	}
	r := &burstRun{tester: t, burst: b, both: newPair(t, b.start), rng: rand.New(rand.NewPCG(seed, 1)), now: b.start}
	r.both.begin()
	// Names have three levels. Ancestors are never written.
	for i := range b.attributes {
		r.states = append(r.states, r.both.child(history.Top, []string{"cpu", "thread"}[i%2], strconv.Itoa(i), "state"))
	}
	r.left = b.commit(r.rng)
	return r
}

// step writes some attributes at an instant, and commits when it is time.
func (r *burstRun) step() {
	r.now += r.gap(r.rng)
	if r.together == 0 {
		r.write(r.states[r.pick(r.rng, len(r.states))])
	} else {
		for _, i := range r.rng.Perm(len(r.states))[:r.together] {
			r.write(r.states[i])
		}
	}
	if r.left--; r.left > 0 {
		return
	}
	r.left = r.commit(r.rng)
	r.commits++
	if r.dropEvery > 0 && r.commits%r.dropEvery == 0 {
		r.drop()
	}
	v, o := r.both.commit()
	if r.commits < 4 || len(r.held) < 30 && r.rng.IntN(20) == 0 {
		c := newChecker(r, fmt.Sprintf("%s, %d commits", r.name, r.commits), v, o)
		c.ask(r.rng, 20)
		r.held = append(r.held, c)
	}
	if r.looked != nil {
		r.looked(newChecker(r, fmt.Sprintf("%s, %d commits", r.name, r.commits), v, o))
	}
	r.both.begin()
	if r.rng.IntN(20) == 0 {
		for _, a := range r.states[:min(len(r.states), 100)] {
			r.now++
			r.write(a)
		}
		r.both.abort()
		r.both.begin()
	}
}

// drop removes tiles before some instant: any, one at or beside the end of a tile, or one
// chosen by a number of bytes.
func (r *burstRun) drop() {
	last, _ := r.both.o.now.last()
	if !last.is {
		return
	}
	first := r.both.o.view().start
	t := max(between(r.rng, first, last.at), between(r.rng, first, last.at))
	ends := history.TileEnds(r.both.h)
	switch how := r.rng.IntN(4); {
	case how == 0 && len(ends) > 0:
		r.both.dropBytes(1 + r.rng.Int64N(4000))
		return
	case how < 3 && len(ends) > 0:
		t = ends[r.rng.IntN(len(ends))] + r.rng.Int64N(3) - 1
	}
	r.both.drop(t)
}

func (r *burstRun) write(a history.Attribute) {
	v := r.value(r.rng, a)
	if r.added == 0 || int(a)%r.added != 0 {
		r.both.change(r.now, a, v)
		return
	}
	if began := r.both.o.now.attributes[a].began; began <= r.now {
		r.both.add(a, began, r.now, v)
	}
}

// finish closes the history and checks all views again.
func (r *burstRun) finish() {
	r.both.close(r.now + r.rng.Int64N(2))
	v, o := r.both.commit()
	c := newChecker(r, r.name+", closed", v, o)
	c.ask(r.rng, 300)
	r.held = append(r.held, c)
	for i := range 3 {
		r.both.beginDrop()
		r.drop()
		v, o := r.both.commit()
		c := newChecker(r, fmt.Sprintf("%s, closed, drop %d", r.name, i), v, o)
		c.ask(r.rng, 50)
		r.held = append(r.held, c)
	}
	for _, c := range r.held {
		c.name += ", later"
		c.ask(r.rng, 20)
	}
	// A drop of bytes ends, whatever was dropped before.
	r.both.beginDrop()
	for left := 1000; r.both.w.DropBytes(1<<20, math.MaxInt64); left-- {
		if left == 0 {
			r.Fatalf("DropBytes always has something to drop")
		}
		r.both.commit()
		r.both.beginDrop()
	}
}

// TestCounts makes tiles of every size around the thresholds: of one attribute alone, and of
// two.
func TestCounts(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 254, 255, 256, 257, 258, 510, 511, 512, 513, 575, 576, 577, 768, 1024} {
		for _, attributes := range []int{1, 2} {
			p := newPair(t, 0)
			p.begin()
			for a := range attributes {
				p.child(history.Top, strconv.Itoa(a))
			}
			for i := range n {
				for a := range attributes {
					p.change(int64(i+1), history.Attribute(a), history.Int(int64(i)))
				}
				if i%100 == 99 {
					p.commit()
					p.begin()
				}
			}
			p.close(int64(n))
			v, o := p.commit()
			c := newChecker(t, fmt.Sprintf("%d of %d", n, attributes), v, o)
			for a := range attributes {
				for at := range int64(n + 1) {
					c.at(history.Attribute(a), at)
				}
				c.rangeOf(history.Attribute(a), 0, int64(n), history.RangeOptions{})
			}
		}
	}
}
