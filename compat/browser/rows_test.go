package browser

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server"
	granarytrace "github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/golang"
)

// handler, worker and ticker are the goroutines of a recorded program.
func handler(in chan<- int, mu *sync.Mutex) {
	for i := range 200 {
		trace.WithRegion(context.Background(), fmt.Sprint("request ", i%3), func() {
			in <- i
			mu.Lock()
			time.Sleep(200 * time.Microsecond)
			mu.Unlock()
		})
	}
	close(in)
}

func worker(in <-chan int, mu *sync.Mutex) {
	for range in {
		mu.Lock()
		for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
		}
		mu.Unlock()
	}
}

func ticker(n int) {
	for range n {
		time.Sleep(5 * time.Millisecond)
	}
}

// recordTrace returns a Go execution trace with CPU samples.
func recordTrace(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	in := make(chan int)
	all.Go(func() { handler(in, &mu) })
	all.Go(func() { worker(in, &mu) })
	all.Go(func() { ticker(60) })
	all.Wait()
	trace.Stop()
	pprof.StopCPUProfile()
	return out.Bytes()
}

// recorded returns a server with a Go execution trace: its states as a history, and its CPU samples.
func recorded(t testing.TB) *server.Server {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 256 << 20, FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(store, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Wait(context.Background()); _ = store.Close() })
	loadTrace(t, store)
	return s
}

// loadTrace records a Go execution trace, and loads it with all that it says, as granary load does.
func loadTrace(t testing.TB, store *columnstore.Store) {
	t.Helper()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var h *columnstore.History
	var tx *columnstore.Tx
	to := granarytrace.Target{
		Begin: func(start int64) (w *history.Writer, err error) {
			if h == nil {
				if h, err = store.CreateHistory("app", columnstore.HistoryOptions{Start: start}); err != nil {
					return nil, err
				}
			}
			tx = store.Begin()
			return tx.History(h)
		},
		Commit: func() error { _, err := tx.Commit(); return err },
	}
	_, err = golang.ImportWith(t.Context(), bytes.NewReader(recordTrace(t)), to, golang.ImportOptions{Samples: func(some []golang.Sampled) error {
		p := format.OfGoSamples(some, true)
		_, err := p.InsertTx(t.Context(), db, tx, profile.InsertOptions{Labels: map[string]string{"service_name": "app"}})
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStateRows names, finds, orders and marks rows of states.
func TestStateRows(t *testing.T) {
	b := open(t, recorded(t), "/?from=latest-1s")
	b.settles(readyStates)
	option := "document.querySelector('#state-at').textContent"
	b.until("new URLSearchParams(location.search).get('p') === null && document.querySelector('.states .path').value === 'Goroutines/{goid}'")
	const rows = "document.querySelectorAll('.states .sr tbody tr').length"
	all := eval[int64](b, rows)
	find := "input[aria-label='find rows by a text in their names']"
	eval[any](b, "document.querySelector("+quoted(find)+").focus()")
	b.keys(strings.Split("GO.FUNC", "")...)
	b.until("location.search.includes('rf=GO.FUNC')")
	b.settles(readyStates + fmt.Sprintf(" && %s >= 3 && %s < %d", rows, rows, all)) // the three above, and what else runs in this process
	b.until(option + ".includes('sync.(*WaitGroup).Go.func1')")
	for _, what := range []string{"longest waits", "levels", "wake-ups", "samples"} {
		b.press(what)
		b.until("!document.querySelector('.states.old')")
	}
	b.until("new URLSearchParams(location.search).get('ro') === 'wlas'")
	b.says("by longest wait")
	b.until(option + ".includes('longest wait')")
	b.settles(readyStates)
	b.shot("rows-1280")
	b.looks("rows", 1920, 1280, 390)
	b.goTo("/") // an hour, of which the trace is seconds
	b.settles("[...document.querySelectorAll('.states button')].some((e) => e.textContent.startsWith('show its '))")
	b.until("[...document.querySelectorAll('.states button')].find((e) => e.textContent.startsWith('show its ')).click() ?? true")
	b.settles("/[?&]from=20/.test(location.search) && /[?&]to=20/.test(location.search) && ![...document.querySelectorAll('.states button')].some((e) => e.textContent.startsWith('show its ')) && " + rows + " >= " + fmt.Sprint(all))
}

// TestWaits asks how long states last, by state, goroutine and function, and how long what could run waited; a click goes to
// the longest.
func TestWaits(t *testing.T) {
	b := open(t, recorded(t), "/?from=latest-1s&v=waits")
	b.until("document.querySelectorAll('.waits tbody tr').length > 2")
	b.says("were in each state")
	b.press("scheduler latency")
	b.until("location.search.includes('wb=latency') && document.querySelector('.waits caption')?.textContent.startsWith('How long what could run')")
	b.shot("waits-latency")
	b.press("function")
	b.move(b.point(".waits .toggle[aria-pressed='true']", 0.5, 0.5))
	b.until("(({ color, backgroundColor }) => color !== backgroundColor && backgroundColor === getComputedStyle(document.body).color)(getComputedStyle(document.querySelector('.waits .toggle:hover')))") // a choice stays legible below the pointer
	b.until("document.querySelector('.waits thead').textContent.startsWith('functionstate') && document.querySelector('.waits tbody').textContent.includes('WaitGroup')")
	b.looks("waits", 1920, 1280, 390)
	b.width(1280)
	b.press("woken by")
	b.settles(`[...document.querySelectorAll(".waits tbody tr")].some((r) => r.cells[2].textContent === "waiting (sync)" && /^\d+$/.test(r.cells[1].textContent) && Number(r.cells[5].textContent) > 9)`) // who has the lock again and again
	b.settles(`[...document.querySelectorAll(".waits tbody tr")].some((r) => r.cells[1].textContent === "timer or system" && r.cells[2].textContent === "waiting (sleep)")`)
	eval[any](b, "document.querySelector('.waits tbody tr td:last-child button').click()")
	b.until("/[?&]at=Goroutines/.test(location.search) && /[?&]from=20/.test(location.search)")
	b.goTo("/?v=waits&from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z")
	b.says("No state in this range.")
	b.until("[...document.querySelectorAll('.waits button')].find((e) => e.textContent.startsWith('show its ')).click() ?? true") // where they are
	b.settles("document.querySelectorAll('.waits tbody tr').length > 2")
}
