package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/granarydb/granary/server"
)

// TestZone shows all times as local ones and in UTC, in fields too, and reads what is typed in the same zone.
func TestZone(t *testing.T) {
	b := open(t, fleet(t), "/?from=2026-11-23T09:00:00Z&to=2026-11-23T10:00:00.5Z")
	if _, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"}); err != nil {
		t.Fatal(err)
	}
	b.goTo("/?from=2026-11-23T09:00:00Z&to=2026-11-23T10:00:00.5Z")
	b.ready()
	const from, to = "document.querySelector('[aria-label=from]').value", "document.querySelector('[aria-label=to]').value"
	b.until(from + " === '2026-11-23 14:30:00' && " + to + " === '2026-11-23 15:30:00.5'")
	b.says("2026-11-23 14:30:00 + 1 h")
	b.press("UTC")
	b.until(from + " === '2026-11-23 09:00:00' && " + to + " === '2026-11-23 10:00:00.5' && location.search.includes('utc=1')")
	b.says("2026-11-23 09:00:00 + 1 h")
	b.shot("utc")
	enter := func(label, text string) {
		eval[any](b, fmt.Sprintf("(() => { const i = document.querySelector('[aria-label=%s]'); i.value = %s; i.dispatchEvent(new Event('input', { bubbles: true })); i.dispatchEvent(new Event('change', { bubbles: true })); })()", label, quoted(text)))
	}
	enter("from", "2026-11-23 09:30")
	b.until("new URLSearchParams(location.search).get('from') === '2026-11-23T09:30:00Z'")
	b.press("UTC")
	b.until(from + " === '2026-11-23 15:00:00' && !location.search.includes('utc')")
	enter("from", "2026-11-23 14:45:00")
	b.until("new URLSearchParams(location.search).get('from') === '2026-11-23T09:15:00Z'")
	b.click("#tab-profiles")
	b.until("document.querySelector('table.list tbody .link')?.textContent.startsWith('2026-11-23 15:30')")
	b.press("UTC")
	b.until("document.querySelector('table.list tbody .link')?.textContent.startsWith('2026-11-23 10:00')")
}

// TestSelf: the view of the store leads to what the server knows of itself.
func TestSelf(t *testing.T) {
	s := newServerOf(t, server.Options{Self: "self/"})
	push(t, s, named("main.work", 5), url.Values{"service_name": {"shop"}})
	b := open(t, s, "/?v=store")
	b.until("document.querySelector('[aria-label=\"this server\"] a').href === location.origin + '/self/'")
}

// TestWideNumbers: numbers without a unit are as wide as they are, and no column runs into the next one.
func TestWideNumbers(t *testing.T) {
	s := newServer(t)
	p := named("main.work", 123_456_789_012_345_678)
	p.SampleType[0].Type, p.SampleType[0].Unit = "objects", "count"
	push(t, s, p, url.Values{"service_name": {"shop"}})
	const fits = `[...document.querySelectorAll("table.top td, table.top th")].every((e) => e.scrollWidth <= e.clientWidth + 1) &&
		[...document.querySelectorAll("table.top tr")].every((r) => [...r.cells].every((c, i) => i === 0 || c.getBoundingClientRect().left >= r.cells[i - 1].getBoundingClientRect().right - 1))`
	b := open(t, s, "/")
	b.ready()
	b.says("123,456,789,012,345,680")
	b.until(fits + " && document.querySelector('table.top .name').clientWidth > 60")
	b.until("document.querySelector('.u-over').getBoundingClientRect().left - document.querySelector('.plot').getBoundingClientRect().left > 140") // the numbers of the axis
	b.shot("wide-numbers")
	b.goTo("/?v=difference&bto=latest-0s&bfrom=latest-1h")
	b.until("document.querySelector('.change-key') && document.querySelector('table.top tbody tr')")
	b.until(fits)
}

// TestShareCommand copies the command of the server. Where there is none the page says so.
func TestShareCommand(t *testing.T) {
	b := open(t, fleet(t), "/?hide=^runtime&sort=cum&from=2026-11-23T09:00:00Z")
	b.ready()
	eval[any](b, "navigator.clipboard.writeText = async (text) => { window.copied = text; }; null")
	b.press("share")
	b.until("[...document.querySelectorAll('[role=menuitem]')].some((e) => e.textContent === 'copy the same question as a command' && !e.disabled)")
	b.press("copy the same question as a command")
	b.until("window.copied?.startsWith(\"granary top '--hide=^runtime' --sort=cum \" + \"'\" + location.origin + '/pprof?')")
	b.goTo("/?t=memory:inuse_space:bytes:space:bytes&sum=1")
	b.until("document.querySelector('.flame canvas')")
	b.press("share")
	b.says("no command asks this question")
}

// TestEvicted: a range before what the store has is said to be gone, and a button leads to what is left.
func TestEvicted(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/store" {
			return false
		}
		_, _ = fmt.Fprintf(w, `{"commit": 1, "touched": {"granules": 0, "parts": 0, "rows": 0, "chosen": 0}, "oldest": %q, "newest": %q, "floor": %q, "memory": {}, "disk": {}, "gone": {}}`,
			last.Add(-2*time.Hour).Format(time.RFC3339), last.Format(time.RFC3339), last.Add(-2*time.Hour).Format(time.RFC3339))
		return true
	})
	b := open(t, s, "/?utc=1&from=2026-11-22T00:00:00Z&to=2026-11-22T01:00:00Z")
	b.says("All before 2026-11-23 08:00:00 was evicted or dropped.")
	b.shot("evicted")
	b.press("what is left")
	b.ready("new URLSearchParams(location.search).get('from') === '2026-11-23T08:00:00Z'")
}

// pictured is true when the flame graph has a colour of the style.
func pictured(colour string) string {
	return `(() => { const c = document.querySelector(".flame canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const want = parseInt(getComputedStyle(document.documentElement).getPropertyValue("` + colour + `").trim().slice(1), 16);
		for (let i = 0; i < d.length; i += 4) if ((d[i] << 16 | d[i + 1] << 8 | d[i + 2]) === want) return true;
		return false; })()`
}

// TestColourByValue colours frames by what is their own.
func TestColourByValue(t *testing.T) {
	b := open(t, fleet(t), "/?c=value")
	b.ready()
	b.says("own value, of all: less than 0.1 %")
	for _, colour := range []string{"--change3", "--change4", "--change5"} {
		b.until(pictured(colour))
	}
	b.shot("colour-value")
	b.press("view ▾")
	b.until("document.querySelector('#colour')")
	eval[any](b, "(() => { const s = document.querySelector('#colour'); s.value = ''; s.dispatchEvent(new Event('change', { bubbles: true })); })()")
	b.until("!location.search.includes('c=') && !(" + pictured("--change5") + ")")
}

// TestStateShares says of each frame how its samples divide by state, in its line and its colours.
func TestStateShares(t *testing.T) {
	b := open(t, threads(t, 30, 600), "/")
	b.until(readyStates + " && !(" + pictured("--state2") + ")")
	b.goTo("/?c=state")
	b.until(readyStates)
	b.until("/running [0-9.]+ %/.test(document.querySelector('#details').textContent)")
	b.says("samples of all states:")
	b.until(pictured("--state2") + " && " + pictured("--state5")) // running, and waiting
	b.focusGraph()
	b.keys(kb.ArrowDown)
	b.until("document.querySelector('[aria-selected=true][role=treeitem]').getAttribute('aria-level') === '2'")
	name := strings.Split(eval[string](b, "document.querySelector('[aria-selected=true][role=treeitem]').textContent"), " ")[0]
	want := map[string]string{"run": "running 100 %", "loc": "waiting (lock) 100 %", "sig": "without a state: no label 100 %"}[name[:3]]
	b.until("document.querySelector('#details').textContent.endsWith(" + quoted(want) + ") && document.querySelector('[aria-selected=true][role=treeitem]').textContent.endsWith(" + quoted(want) + ")")
	b.shot("shares-colour")
	b.goTo("/?st=running")
	b.until(readyStates)
	b.until("/^all.*waiting [(]lock[)] [0-9.]+ %, running [0-9.]+ %, without a state: no label [0-9.]+ %$/.test(document.querySelector('#details').textContent)")
	b.until(pictured("--state2") + " && " + pictured("--state5"))
	b.shot("shares-chosen")
	b.goTo("/?v=sandwich&fn=run.f1&st=running")
	b.until("document.querySelectorAll('.flame canvas').length === 2 && document.querySelector('#details').textContent.endsWith('running 100 %')")
}

// TestOthers: a frame that stands for others says how much they are, and asks for them.
func TestOthers(t *testing.T) {
	b := open(t, fleet(t), "/?n=20")
	b.ready()
	b.focusGraph()
	b.keys(kb.ArrowDown)
	for range 60 { // the others are the last child
		if strings.HasPrefix(details(b), "other: ") {
			break
		}
		before := details(b)
		b.keys(kb.ArrowRight)
		time.Sleep(20 * time.Millisecond)
		if details(b) == before {
			b.keys(kb.ArrowDown)
		}
	}
	b.until("document.querySelector('#details').textContent.startsWith('other: ')")
	b.shot("others")
	b.keys(kb.Enter)
	b.ready("location.search.includes('n=100000')")
}

// TestTimeKeys zooms and shifts the time with the focus in the chart; of a difference both sides.
func TestTimeKeys(t *testing.T) {
	b := open(t, fleet(t), "/?from=2026-11-23T09:00:00Z&to=2026-11-23T10:00:00Z")
	b.ready()
	at := func(from, to string) string {
		return fmt.Sprintf("(() => { const p = new URLSearchParams(location.search); return p.get('%sfrom') === '2026-11-23T%sZ' && p.get('%sto') === '2026-11-23T%sZ'; })()", "", from, "", to)
	}
	eval[any](b, "document.querySelector('.plot').focus()")
	b.keys("+")
	b.until(at("09:15:00", "09:45:00"))
	b.keys("[")
	b.until(at("09:00:00", "09:30:00"))
	b.goTo("/?v=difference&from=2026-11-23T09:00:00Z&to=2026-11-23T10:00:00Z&bfrom=2026-11-23T08:00:00Z&bto=2026-11-23T09:00:00Z")
	b.until("document.querySelector('.change-key') && document.querySelector('.plot canvas')")
	eval[any](b, "document.querySelector('.plot').focus()")
	b.keys("]")
	b.until(at("09:30:00", "10:30:00"))
	b.until("new URLSearchParams(location.search).get('bfrom') === '2026-11-23T08:30:00Z' && new URLSearchParams(location.search).get('bto') === '2026-11-23T09:30:00Z'")
}

// TestZoomedView says how much of the view a frame is.
func TestZoomedView(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	b.focusGraph()
	b.keys(kb.ArrowDown, kb.Enter)
	b.until("location.search.includes('z=') && document.querySelector('#details').textContent.includes('100 % of view')")
}

// TestStateLines shows how many attributes are in each state over time, and chooses one by the table beside the lines.
func TestStateLines(t *testing.T) {
	b := open(t, threads(t, 30, 600), "/?by=%7Bstate%7D&from=latest-20m")
	b.until(readyStates)
	b.until("/^state of 30 attributes/.test(document.querySelector('.legend th').textContent) && document.querySelectorAll('.legend tbody tr').length === 3")
	sum := eval[float64](b, "[...document.querySelectorAll('.legend tbody td.n')].reduce((n, e) => n + parseFloat(e.textContent), 0)")
	if sum < 29.5 || sum > 30.5 {
		t.Errorf("30 attributes are in %v states", sum)
	}
	b.shot("state-lines")
	b.press("waiting (lock)")
	b.until("new URLSearchParams(location.search).get('st') === 'waiting (lock)' && document.querySelector('.legend .chosen')?.textContent.startsWith('waiting (lock)')")
	onlyOf(b, "lock.")
	b.hover(0.5, 0.4, 0, "/: .*waiting [(]lock[)] [0-9.]+ [(][0-9.]+ %[)]/.test(document.querySelector('#details').textContent)")
	b.press("waiting (lock)")
	b.until("!location.search.includes('st=')")
}

// over moves the pointer to a place of the chart, as parts of its width and height, and `below` pixels below it. The place
// is looked up each time: what is above the chart grows when labels are known.
func (b *tab) over(x, y, below float64) (left, top float64) {
	b.t.Helper()
	left, top = b.point(".plot .u-over", x, y)
	run(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, left, top+below))
	return left, top + below
}

// hover moves the pointer about a place of the chart until an expression is true: a chart that is made again forgets where it
// is. It returns the place.
func (b *tab) hover(x, y, below float64, expression string) (left, top float64) {
	b.t.Helper()
	for i := 0; i < 200; i++ {
		left, top = b.over(x-float64(i%2)/1000, y, below)
		if eval[bool](b, "Boolean("+expression+")") {
			break
		}
	}
	b.until(expression)
	return left, top
}

// TestDots has a dot for each of a few profiles, which a click chooses.
func TestDots(t *testing.T) {
	b := open(t, fleet(t), "/?q={pod=\"etcd-1\"}&from=latest-2h")
	b.ready("/· 21 profiles/.test(document.querySelector('.legend th').textContent)") // a graph that is drawn says its own line
	const dot = "document.querySelector('#details').textContent"
	part := 0.5
	var x, y float64
	isDot := func() bool { // the pointer moves on until it says so
		x, y = b.over(part, 1, -5)
		return strings.HasPrefix(eval[string](b, dot), "profile of ")
	}
	for ; !isDot(); part += 0.003 {
		if part > 1 {
			t.Fatal("there is no dot")
		}
	}
	b.until(dot + ".includes('pod=etcd-1') && " + dot + ".includes('2 more beside it')") // of three files each time
	b.shot("dots")
	run(b, chromedp.MouseClickXY(x, y))
	b.ready("/to=2026/.test(location.search) && /· 3 profiles/.test(document.querySelector('.legend th').textContent)")
}

// TestManyDots counts profiles by column, if there are more than dots, and says how many.
func TestManyDots(t *testing.T) {
	s := newServer(t)
	for i := range 700 {
		p := named("main.work", 5)
		p.TimeNanos = last.Add(-time.Duration(i*i) * 7 * time.Millisecond).UnixNano() // more of them at the end
		push(t, s, p, url.Values{"service_name": {"shop"}})
	}
	b := open(t, s, "/?from=latest-1h")
	b.ready("/· 700 profiles, by 30 s/.test(document.querySelector('.legend th').textContent)")
	x, y := b.hover(0.997, 1, -5, "(window.saw = /^([0-9]+) profiles from [0-9 :-]+ [+] 30 s/.exec(document.querySelector('#details').textContent)?.[1])")
	b.shot("many-dots")
	n := eval[string](b, "window.saw")
	run(b, chromedp.MouseClickXY(x, y))
	b.ready("/from=2026/.test(location.search)")
	b.until("parseInt(document.querySelector('.legend small').textContent.slice(3)) >= " + n)
}

// TestWhichMatcher says which matcher of a selector fits no profile, and leads on without it.
func TestWhichMatcher(t *testing.T) {
	b := open(t, fleet(t), "/?q="+url.QueryEscape(`{service_name="etcd",pod="a, b"}`))
	b.says(`No profile fits pod="a, b"`)
	b.shot("which-matcher")
	b.press("without it")
	b.ready(`new URLSearchParams(location.search).get('q') === '{service_name="etcd"}'`)
	b.goTo("/?q=" + url.QueryEscape(`{service_name="etcd",pod="compile-1"}`))
	b.says("Each of its matchers fits some profiles, and no profile fits all of them.")
}
