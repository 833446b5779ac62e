package browser

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/server"
)

// threads returns a server with a history of some threads in half an hour, and samples of them: a thread that runs is in
// run.N, and one that waits for a lock is in lock.N.
func threads(t testing.TB, n, changes int) *server.Server {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 512 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(store, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Wait(context.Background()); _ = store.Close() })
	begin := last.Add(-30 * time.Minute)
	h, err := store.CreateHistory("threads", columnstore.HistoryOptions{Start: begin.UnixNano()})
	if err != nil {
		t.Fatal(err)
	}
	tx := store.Begin()
	w, err := tx.History(h)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	states := make([]string, n)
	all := make([]history.Attribute, n)
	for i := range all {
		if all[i], err = w.Attribute("Threads", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for step := range changes {
		at := begin.Add(time.Duration(step) * 30 * time.Minute / time.Duration(changes)).UnixNano()
		for i, a := range all {
			if step%(1+i%7) != 0 && step > 0 {
				continue
			}
			states[i] = []string{"running", "runnable", "waiting (lock)"}[rng.IntN(3)]
			if err := w.Change(at, a, history.String(states[i])); err != nil {
				t.Fatal(err)
			}
		}
		if step%(1+changes/30) == 0 && changes >= 30 {
			pushThreads(t, s, at+1000, states)
		}
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return s
}

// pushThreads stores a profile of the threads that run or wait for a lock, and of one that has no number.
func pushThreads(t testing.TB, s *server.Server, at int64, states []string) {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		TimeNanos: at, DurationNanos: 1000,
	}
	add := func(name string, label map[string][]string) {
		id := uint64(len(p.Location) + 1)
		f := &profile.Function{ID: id, Name: name}
		l := &profile.Location{ID: id, Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1e7}, Label: label})
	}
	for i, state := range states[:min(len(states), 40)] {
		label := map[string][]string{"tid": {fmt.Sprint(i)}}
		switch state {
		case "running":
			add(fmt.Sprintf("run.f%d", i%9), label)
		case "waiting (lock)":
			add(fmt.Sprintf("lock.f%d", i%5), label)
		}
	}
	add("signal.f", nil)
	push(t, s, p, url.Values{"service_name": {"threads"}})
}

// readyStates is true when the states are drawn too.
const readyStates = ready + " && document.querySelector('.state-rows canvas')?.width > 300 && !document.querySelector('.states.old')"

// functions returns the names in the table of functions.
func functions(b *tab) []string {
	b.t.Helper()
	return eval[[]string](b, "[...document.querySelectorAll('table.top tbody .name .link')].map((e) => e.textContent)")
}

// onlyOf fails the test unless all functions begin with a prefix.
func onlyOf(b *tab, prefix string) {
	b.t.Helper()
	b.ready("[...document.querySelectorAll('table.top tbody .name .link')].every((e) => e.textContent.startsWith(" + quoted(prefix) + "))")
	if all := functions(b); len(all) < 2 {
		b.t.Errorf("functions %q", all)
	}
}

// TestStates chooses a state, and sees only its samples; then those without a state; then all.
func TestStates(t *testing.T) {
	b := open(t, threads(t, 30, 600), "/")
	b.settles(readyStates)
	b.says("30 threads by changes")
	if all := functions(b); len(all) < 10 {
		t.Fatalf("functions %q", all)
	}
	b.click("#tab-states")
	b.says("without a state: no label that says whose state it is")
	b.shot("states-tab")
	b.press("waiting (lock)")
	b.until("new URLSearchParams(location.search).get('st') === 'waiting (lock)'")
	onlyOf(b, "lock.")
	b.until("/^[0-9.]+ % of [0-9.]+ s[.] [0-9.]+ ms have no state[.]$/.test(document.querySelector('.choice-note span').textContent)")
	b.shot("states-chosen")
	before := query(b)
	b.goTo("/" + eval[string](b, "location.search"))
	b.settles(readyStates)
	onlyOf(b, "lock.")
	if query(b) != before {
		t.Errorf("loaded again it is %s, not %s", query(b), before)
	}
	b.click("#tab-states")
	b.press("without a state: no label that says whose state it is")
	b.until("location.search.includes('ns=no')")
	b.until("document.querySelectorAll('table.top tbody tr').length === 1 && document.querySelector('table.top tbody').textContent.includes('signal.f')")
	b.press("✕ clear")
	b.until("!/[?&](st|ns)=/.test(location.search) && document.querySelectorAll('table.top tbody tr').length > 10")
}

// TestStatesSpan chooses a span by a click: its range, and the samples of its thread; then what ran meanwhile.
func TestStatesSpan(t *testing.T) {
	b := open(t, threads(t, 12, 300), "/?from=latest-20m")
	b.settles(readyStates)
	x, _ := b.point(".plot .u-over", 0.5, 0)
	_, y := b.point(".state-rows", 0, 0)
	run(b, chromedp.MouseClickXY(x, y+6+3*13))
	b.until("/[?&]at=Threads/.test(location.search) && /[?&]from=2026/.test(location.search)")
	at := eval[string](b, "new URLSearchParams(location.search).get('at')")
	if said := eval[string](b, "document.querySelector('[role=status].sr').textContent"); !strings.HasPrefix(said, at+" ") {
		t.Errorf("of %s the page says %q", at, said)
	}
	b.press("what ran meanwhile")
	b.says("All others while " + at + " was")
	b.press("‹ back")
	b.until("!location.search.includes('mw=1')")
	b.press("‹ back")
	b.settles("!location.search.includes('at=') && " + readyStates)
	b.goTo("/?from=latest-20m&v=states&at=Threads%2F3")
	b.press("what ran meanwhile")
	b.until("location.search.includes('mw=1') && document.querySelector('.flame canvas')")
	b.says("All others while Threads/3 was")
	b.shot("meanwhile")
	b.press("back to the states")
	b.press("samples of all states")
	b.until("!/[?&](st|mw)=/.test(location.search) && document.querySelectorAll('table.bars tbody tr').length > 1")
}

// TestStatesByKeys walks over states, chooses a span and asks what ran meanwhile, by keys alone.
func TestStatesByKeys(t *testing.T) {
	b := open(t, threads(t, 12, 300), "/?from=latest-20m")
	b.settles(readyStates)
	for range 100 {
		if eval[bool](b, "document.activeElement.getAttribute('role') === 'listbox'") {
			break
		}
		b.keys(kb.Tab)
	}
	b.until("document.activeElement.getAttribute('role') === 'listbox'")
	option := "document.querySelector('#state-at').textContent"
	first := eval[string](b, option)
	b.keys(kb.ArrowDown)
	b.until(option + " !== " + quoted(first))
	if details(b) != eval[string](b, option) {
		t.Errorf("the line says %q, the option %q", details(b), eval[string](b, option))
	}
	b.keys(kb.ArrowRight, kb.ArrowRight)
	name, _, _ := strings.Cut(eval[string](b, option), " ")
	b.shot("states-keys")
	b.keys(kb.Enter)
	b.until("new URLSearchParams(location.search).get('at') === " + quoted(name))
	b.keys("u")
	b.settles("!location.search.includes('at=') && " + readyStates)
	b.keys("m")
	b.until("location.search.includes('mw=1')")
	b.says("All others while")
	b.keys(kb.Escape)
	b.until("!/[?&](at|st|mw)=/.test(location.search)")
}

// TestStatesNone chooses a state that no sample is in: the page says so, and leads on.
func TestStatesNone(t *testing.T) {
	b := open(t, threads(t, 12, 300), "/?from=latest-20m&at=Threads%2F3&st=runnable")
	b.says("Threads/3 has no sample in this range in the state runnable.")
	b.shot("states-none")
	b.press("samples of all states")
	b.settles("!/[?&](at|st)=/.test(location.search) && " + readyStates)
}

// TestStatesCoarse says that profiles are longer than states.
func TestStatesCoarse(t *testing.T) {
	s := threads(t, 12, 300)
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		TimeNanos: last.Add(-time.Minute).UnixNano(), DurationNanos: int64(time.Hour),
		Function: []*profile.Function{{ID: 1, Name: "run.long"}},
	}
	p.Location = []*profile.Location{{ID: 1, Line: []profile.Line{{Function: p.Function[0]}}}}
	p.Sample = []*profile.Sample{{Location: p.Location, Value: []int64{1e7}, Label: map[string][]string{"tid": {"0"}}}}
	push(t, s, p, url.Values{"service_name": {"threads"}})
	b := open(t, s, "/?v=states")
	b.says("Profiles are up to 1 h long, and a state lasts")
	b.goTo("/?st=running")
	b.says("the state at the time of a profile is one of several.")
}

// TestStatesFrame draws 200 rows of 300 intervals, and holds a frame to 5 ms, the best of rounds.
func TestStatesFrame(t *testing.T) {
	b := open(t, threads(t, 200, 300), "/")
	b.settles(readyStates)
	eval[any](b, "document.querySelector('.state-rows').style.height = '2600px'")
	best := b.best(5, func() float64 {
		return eval[float64](b, `new Promise((done) => {
			const times = [], own = requestAnimationFrame, place = document.querySelector(".state-rows");
			const step = (n) => {
				const start = performance.now();
				place.dispatchEvent(new Event("scroll"));
				times.push(performance.now() - start);
				if (n > 0) own(() => step(n - 1)); else done(times.sort((a, b) => a - b)[times.length >> 1]);
			};
			own(() => step(60));
		})`)
	})
	t.Logf("a frame takes %.2f ms", best)
	if best > 5 {
		t.Errorf("a frame takes %.2f ms, at most 5", best)
	}
	if rows := eval[int](b, "document.querySelectorAll('.state-place .sr tbody tr').length"); rows != 200 {
		t.Errorf("the table has %d rows", rows)
	}
}

// TestStatesRefused shows names and states that are no plain text.
func TestStatesRefused(t *testing.T) {
	s := threads(t, 2, 30)
	b := open(t, s, "/?p="+url.QueryEscape("<img src=x onerror=alert(1)>/{tid}"))
	b.says("No attribute of <img src=x onerror=alert(1)>/{tid} has a state in this range.")
	b.goTo("/?at=" + url.QueryEscape("Threads/<script>"))
	b.until("document.querySelector('.crumbs')?.textContent.includes('Threads/<script>')")
	b.says("there is no attribute")
}
