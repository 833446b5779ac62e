package history_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
)

// quickQueries is a number of questions that keeps the suite quick.
const quickQueries = 500

var queryCount = flag.Int("history.queries", quickQueries, "how many random questions of each kind TestQueries asks of each set")

// TestQueries builds histories of the real sets and of the model, by closed intervals, by
// changes, and by both. It compares random questions of each view with the oracle: at the
// view's commit, during the building, and again after the close.
func TestQueries(t *testing.T) {
	effort.Long(t)
	for i, set := range []string{
		"many-threads", "uneven-streams", "bug446190", "flipping-endianness",
		"synth:100:500", "synth:1000:50", "synth:10000:5", "synth:100000:1",
	} {
		t.Run(set, func(t *testing.T) {
			if effort.Race && set != "bug446190" && set != "synth:100:500" {
				t.Skip("one goroutine asks and writes")
			}
			s := recorded.Open(t, set)
			feeds := []string{"intervals", "changes", "both"}
			if effort.Race || len(s.Attributes) > 20_000 && *queryCount <= quickQueries {
				feeds = feeds[2:]
			} else if !effort.Full && *queryCount <= quickQueries {
				feeds = feeds[i%3 : i%3+1]
			}
			for _, feed := range feeds {
				t.Run(feed, func(t *testing.T) { newReplay(t, s, feed).run() })
			}
		})
	}
}

// replay feeds a set to a history and to the oracle.
type replay struct {
	*testing.T
	set  *ihs.Set
	feed string
	ops  []setOp
	both *pair
	rng  *rand.Rand
	held []*checker
}

// setOp is an event of a set: interval i ends, for attributes fed by Add, or begins.
type setOp struct {
	at    int64
	i     int
	added bool
}

func newReplay(t *testing.T, s *ihs.Set, feed string) *replay {
	r := &replay{T: t, set: s, feed: feed, rng: rand.New(rand.NewPCG(uint64(len(feed)), uint64(s.Len())))}
	for i, key := range s.Keys {
		op := setOp{at: s.Starts[i], i: i}
		if feed == "intervals" || feed == "both" && key%3 == 0 {
			op = setOp{at: s.Ends[i], i: i, added: true}
		}
		r.ops = append(r.ops, op)
	}
	// Changes come first: see mayCommit.
	slices.SortStableFunc(r.ops, func(a, b setOp) int {
		if a.at == b.at && a.added != b.added {
			if b.added {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	r.both = newPair(t, s.Header.Start)
	return r
}

// mayCommit reports whether times up to that of op n-1 may become final: later ops must be
// later in time, and a change later than the instant behind an interval.
func (r *replay) mayCommit(n int, lastAdd moment) bool {
	if n == len(r.ops) {
		return true
	}
	next := r.ops[n]
	return next.at > r.ops[n-1].at && (next.added || !lastAdd.is || next.at > lastAdd.at+1)
}

func (r *replay) run() {
	b := r.both
	b.begin()
	for _, a := range r.set.Attributes {
		parent := history.Top
		if a.Parent != ihs.NoParent {
			parent = history.Attribute(a.Parent)
		}
		b.child(parent, a.Name)
	}
	const commits, looks = 40, 8
	every := len(r.ops)/commits + 1
	next, aborts := r.rng.IntN(every), 3
	var lastAdd moment
	for n := 0; n < len(r.ops); n++ {
		r.apply(n)
		if op := r.ops[n]; op.added {
			lastAdd.reach(op.at)
		}
		if n+1 < next || !r.mayCommit(n+1, lastAdd) {
			continue
		}
		next = n + 1 + r.rng.IntN(2*every)
		if r.rng.IntN(commits/looks) > 0 {
			b.commit()
		} else {
			r.look(fmt.Sprintf("view after %d", n+1), *queryCount/looks)
		}
		b.begin()
		if aborts > 0 && r.rng.IntN(4) == 0 { // aborted ops are repeated
			aborts--
			for k := range min(10_000, len(r.ops)-n-1) {
				r.apply(n + 1 + k)
			}
			b.abort()
			b.begin()
		}
	}
	b.close(r.set.Header.End)
	r.look("closed", *queryCount)
	for i, c := range r.held[:len(r.held)-1] {
		c.name += ", later"
		c.ask(r.rng, *queryCount/looks/4+i)
	}
}

func (r *replay) apply(n int) {
	i := r.ops[n].i
	a, v := history.Attribute(r.set.Keys[i]), events.ValueOf(r.set.At(i))
	if r.ops[n].added {
		r.both.add(a, r.set.Starts[i], r.set.Ends[i], v)
	} else {
		r.both.change(r.set.Starts[i], a, v)
	}
}

// look commits and checks the view.
func (r *replay) look(name string, questions int) {
	v, o := r.both.commit()
	c := newChecker(r, r.feed+", "+name, v, o)
	r.held = append(r.held, c)
	c.ask(r.rng, questions)
}
