package history_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
)

var threadsDuration = flag.Duration("history.duration", 2*time.Second, "how long TestThreads writes each history")

// TestThreads writes while four goroutines read: the newest view, and ones that they
// hold for a while. Run it with -race.
func TestThreads(t *testing.T) {
	for _, b := range []burst{
		{name: "many small transactions", attributes: 40, added: 4, value: anyValue, commit: func(*rand.Rand) int { return 3 }},
		{name: "tiles, and old ones dropped", attributes: 150, added: 5, dropEvery: 9, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(1500) }},
		{name: "one busy attribute", attributes: 100, commit: func(rng *rand.Rand) int { return 1 + rng.IntN(100) }, pick: func(rng *rand.Rand, n int) int {
			return max(0, rng.IntN(100+n)-100)
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			// That the oracle's lists can be read while it goes on, see state.clone.
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
			for until := time.Now().Add(*threadsDuration); time.Now().Before(until) && !t.Failed(); {
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

// seen is a view with the oracle's.
type seen struct {
	view   *history.View
	oracle *oracleView
}

// threadTester ends the goroutine that fails, not the test's.
type threadTester struct{ t *testing.T }

func (t threadTester) Helper() { t.t.Helper() }

func (t threadTester) Fatalf(format string, args ...any) {
	t.t.Helper()
	t.t.Errorf(format, args...)
	runtime.Goexit()
}

// threadReader asks views, some of which it holds.
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
