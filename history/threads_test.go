package history_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

var threadsDuration = flag.Duration("history.duration", time.Second/2, "how long TestThreads writes each history")

// TestThreads writes while four goroutines read the newest view, and views that they hold for
// a while. Run it with -race.
func TestThreads(t *testing.T) {
	for _, b := range []burst{
		{name: "many small transactions", attributes: 40, added: 4, value: anyValue, commit: func(*rand.Rand) int { return 3 }},
		{name: "tiles, and old ones dropped", attributes: 150, added: 5, dropEvery: 9, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(1500) }},
		{name: "texts, and old ones dropped", attributes: 60, added: 5, dropEvery: 2, value: newTexts, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(300) }},
		{name: "one busy attribute", attributes: 100, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(100) }, pick: func(rng *rand.Rand, n int) int {
			return max(0, rng.IntN(100+n)-100)
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			// state.clone makes the oracle's lists safe to read while it goes on.
			var newest atomic.Pointer[seen]
			r := newBurstRun(t, b, 1)
			r.looked = func(c *checker) { newest.Store(&seen{c.view, c.oracle}) }
			var done atomic.Bool
			var questions atomic.Int64
			var readers sync.WaitGroup
			for i := range 4 {
				readers.Go(func() {
					reader := &threadReader{
						tester: threadTester{t}, name: fmt.Sprintf("%s, reader %d", b.name, i),
						rng: rand.New(rand.NewPCG(uint64(i), 7)), newest: &newest, questions: &questions,
					}
					for !done.Load() && !t.Failed() {
						reader.read()
					}
				})
			}
			for until := time.Now().Add(effort.Less(*threadsDuration, 10)); time.Now().Before(until) && !t.Failed(); {
				r.step()
			}
			r.both.close(r.now)
			v, o := r.both.commit()
			newest.Store(&seen{v, o})
			time.Sleep(10 * time.Millisecond) // some questions meet the closed history
			done.Store(true)
			readers.Wait()
			t.Logf("%d commits, %d rounds of questions", r.commits, questions.Load())
		})
	}
}

// seen is a view and the oracle's view.
type seen struct {
	view   *history.View
	oracle *oracleView
}

// threadTester ends the failing goroutine instead of the test's.
type threadTester struct{ t *testing.T }

func (t threadTester) Helper() { t.t.Helper() }

func (t threadTester) Fatalf(format string, args ...any) {
	t.t.Helper()
	t.t.Errorf(format, args...)
	runtime.Goexit()
}

// threadReader queries views, and holds some of them.
type threadReader struct {
	tester
	name      string
	rng       *rand.Rand
	newest    *atomic.Pointer[seen]
	held      []*checker
	questions *atomic.Int64
}

func (r *threadReader) read() {
	s := r.newest.Load()
	if s == nil {
		return
	}
	const holds = 5
	c := newChecker(r, r.name, s.view, s.oracle)
	if len(r.held) < holds {
		r.held = append(r.held, c)
	} else if r.rng.IntN(20) == 0 {
		r.held[r.rng.IntN(holds)] = c
	}
	c.ask(r.rng, 2)
	r.held[r.rng.IntN(len(r.held))].ask(r.rng, 2)
	r.questions.Add(1)
}

// TestSample_PlacesChange samples attributes without a place in the view while a writer gives
// the same place to one, takes it back, and gives it to another. Each keeps its rows.
func TestSample_PlacesChange(t *testing.T) {
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *history.Draft {
		tx, err := h.Begin()
		if err != nil {
			t.Error(err)
		}
		return tx
	}
	tx := begin()
	var all []history.Attribute
	for i := range 3000 {
		a, err := tx.Attribute("x", strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	if err := tx.Change(100, all[len(all)/2], history.Int(1)); err != nil {
		t.Fatal(err)
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; !stop.Load(); i++ {
			tx := begin()
			if err := tx.Change(200, all[i%2*(len(all)-1)], history.Int(1)); err != nil {
				t.Error(err)
			}
			tx.Abort()
		}
	})
	defer writer.Wait()
	defer stop.Store(true)
	for range effort.Less(2000, 10) {
		found, err := view.Sample(all, []int64{50})
		if err != nil || found.Len() != len(all) {
			t.Fatalf("%d intervals, %v; want %d", found.Len(), err, len(all))
		}
		for i, want := range all {
			if got, in := found.At(i); got != want || !in.Value.IsNull() {
				t.Fatalf("interval %d is %v of %d, want null of %d", i, in, got, want)
			}
		}
	}
}
