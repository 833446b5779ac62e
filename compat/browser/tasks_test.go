package browser

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/server"
)

// incident returns a server with an hour of profiles of five services and the same hour of the day before. Since then a line of the
// cart's tax costs more, and version 2 of the search came half an hour ago, which is slower. A Go trace is the newest.
func incident(t *testing.T) *server.Server {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tax.go"), []byte("package cart\n\nfunc tax(rates []rate) (sum int) {\n\tfor _, r := range rates {\n\t\tsum += r.lookup()\n\t}\n\treturn sum\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, store := openServer(t, server.Options{Sources: []server.SourceDir{{Prefix: "/build/cart", Dir: dir}}})
	t.Cleanup(func() { _ = s.Wait(context.Background()); _ = store.Close() })
	newest := time.Now().Add(-time.Minute)
	for i := range 30 {
		for day := range 2 {
			at := newest.Add(-time.Duration(i)*2*time.Minute - time.Duration(day)*24*time.Hour)
			for k, service := range []string{"cart", "checkout", "search", "payments", "email"} {
				labels, own := url.Values{"service_name": {service}}, 40+int64(i*7+k*day)%9
				tax, rank := int64(10), own
				if service == "cart" && day == 0 {
					tax = 35
				}
				if service == "search" {
					labels["version"] = []string{"1"}
					if i < 15 && day == 0 {
						labels["version"], rank = []string{"2"}, own*8/5
					}
				}
				push(t, s, lines(at, service, [][2]int64{{6, own}, {9, rank}}, [][2]int64{{4, 9}, {5, tax}}), labels)
			}
		}
	}
	loadTrace(t, store)
	return s
}

// lines returns a profile of a service: the function serve has a cost in own lines, and calls the function tax with costs in others.
// Costs are lines with tenths of a second.
func lines(at time.Time, service string, own, callee [][2]int64) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1, TimeNanos: at.UnixNano(), DurationNanos: 1e9}
	for i, name := range []string{"serve", "tax"} {
		p.Function = append(p.Function, &profile.Function{ID: uint64(i + 1), Name: service + "." + name, Filename: "/build/" + service + "/" + name + ".go", StartLine: 3})
	}
	place := func(function int, line int64) *profile.Location {
		id := uint64(len(p.Location) + 1)
		l := &profile.Location{ID: id, Address: id, Line: []profile.Line{{Function: p.Function[function], Line: line}}}
		p.Location = append(p.Location, l)
		return l
	}
	call := place(0, 7)
	for _, cost := range own {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{place(0, cost[0])}, Value: []int64{cost[1] * 1e8}})
	}
	for _, cost := range callee {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{place(1, cost[0]), call}, Value: []int64{cost[1] * 1e8}})
	}
	return p
}

// task is what somebody does with the page alone: each step is a press, a click or a text that is typed.
type task struct {
	*tab
	steps int
}

func (k *task) press(text string)     { k.t.Helper(); k.steps++; k.tab.press(text) }
func (k *task) click(selector string) { k.t.Helper(); k.steps++; k.tab.click(selector) }

func (k *task) fill(label, text string) {
	k.t.Helper()
	k.steps++
	k.until("document.querySelector('[aria-label=" + quoted(label) + "]').focus() ?? true")
	k.keys(strings.Split(text, "")...)
}

// done ends a task, which has few steps.
func (k *task) done(name string, most int) {
	k.t.Helper()
	k.t.Logf("%s: %d steps", name, k.steps)
	k.shot("task-" + name)
	if k.steps > most {
		k.t.Errorf("%s: %d steps, at most %d", name, k.steps, most)
	}
	k.steps = 0
}

// TestTasks answers five questions by what the page shows: what got worse since yesterday and why, by which line, what blocks a
// goroutine, whether a version is slower, and a proof of it for somebody else.
func TestTasks(t *testing.T) {
	k := &task{tab: open(t, incident(t), "/?")}
	k.settles(services + " && " + firstRow + " !== ''")
	k.press("Δ a day")
	k.settles(firstRow + " === 'cart' && /[+]2[0-9].* %/.test(document.querySelector('.services tbody tr').textContent) && document.querySelector('.services tbody td.function').textContent.includes('cart.tax')")
	k.shot("task-services")
	k.click(".services tbody td:not(.side) .grew")
	k.settles("/^cart costs .* % more CPU, mostly in cart[.]tax/.test(document.querySelector('.says')?.textContent)")
	k.done("worse", 2)

	k.click("button[aria-label='lines of cart.tax']")
	k.settles("document.querySelector('.lines-of td.grew')")
	if got := eval[string](k.tab, "[...document.querySelectorAll('.lines-of tbody tr')].find((r) => r.querySelector('td.grew')).innerText"); !strings.Contains(got, "5") || !strings.Contains(got, "sum += r.lookup()") || !strings.Contains(got, "+1.25 min +250 %") {
		t.Errorf("the line that got worse is %q", got)
	}
	k.done("line", 2)

	k.goTo("/?")
	k.settles(services)
	k.click("#tab-waits")
	k.press("goroutine")
	k.settles("document.querySelectorAll('.waits tbody tr').length > 2")
	const waits = `[...document.querySelectorAll(".waits tbody tr")].filter((r) => r.cells[2].textContent === "waiting (sync)" && Number(r.cells[5].textContent) > 2)`
	goroutine := eval[string](k.tab, `(async () => { // of this program, and not of its runtime: that can wait for ever
		const [{ name }] = (await (await fetch("api/v1/histories")).json()).histories, of = await (await fetch("api/v1/histories/" + name + "/pixels?find=WaitGroup&p=Goroutines/*")).json(), own = of.rows.map((r) => r.attribute);
		return `+waits+`.map((r) => r.cells[0].textContent).filter((name) => own.includes(name)).sort((a, b) => b.split("/")[1] - a.split("/")[1])[0]; // the newest: the browser's driver has such ones too
	})()`)
	k.fill("find rows by a text in their names", goroutine)
	k.settles("[...document.querySelectorAll('.waits tbody tr')].every((r) => r.textContent.startsWith(" + quoted(goroutine) + "))")
	k.steps++
	k.until(waits + "[0].click() ?? true") // the longest wait for a lock
	k.settles("document.querySelector('.woken')")
	if got := eval[string](k.tab, "document.querySelector('.woken').textContent"); !regexp.MustCompile(`^Goroutines/\d+ sync[.].*, waiting [(]sync[)][.] Woken by Goroutines/\d+ sync[.]`).MatchString(got) {
		t.Errorf("%s: %q", goroutine, got)
	}
	k.done("blocked", 5)

	k.goTo("/?")
	k.settles(services)
	k.press("search")
	k.ready()
	k.press("compare")
	k.press("version 2 against 1")
	k.settles("/^search version 2 costs .* % more CPU than version 1, mostly in search[.]serve/.test(document.querySelector('.says')?.textContent)")
	k.done("version", 4)

	said := eval[string](k.tab, "document.querySelector('.says').textContent")
	eval[any](k.tab, "navigator.clipboard.writeText = async (text) => { window.copied = text; }; null")
	k.press("share")
	k.press("copy a link with fixed times")
	k.until("window.copied")
	k.done("proof", 3)
	link, err := url.Parse(eval[string](k.tab, "window.copied"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(link.RawQuery, "latest") {
		t.Errorf("the link moves with the time: %s", link.RawQuery)
	}
	k.goTo("/?" + link.RawQuery)
	k.settles("document.querySelector('.says')?.textContent === " + quoted(said))
}

// TestTasks_Next: what was chosen for one question is not left for the next one, and goes along where it is of use.
func TestTasks_Next(t *testing.T) {
	b := open(t, incident(t), "/?v=difference&q="+url.QueryEscape(`{service_name="search",version="2"}`)+"&bq="+url.QueryEscape(`{service_name="search",version="1"}`))
	b.settles("document.querySelector('.says')?.textContent.startsWith('search version 2 costs')")
	b.click(".top button.link") // the row of a function: the view of source shows its lines
	b.click("#tab-source")
	b.settles("document.querySelector('.lines-of caption')?.textContent.includes('serve.go')")
	b.press("without the side before")
	b.until("document.querySelectorAll('.top tbody tr').length > 1")
	b.click(".top tbody tr:not(.chosen) button.link")
	b.settles("document.querySelector('.lines-of caption')?.textContent.includes('tax.go')")

	b.click("#tab-services")
	b.settles(services)
	b.click("button[aria-label='without the selector']")
	b.press("cart")
	b.ready()
	if got := eval[string](b, "location.search"); strings.Contains(got, "bq=") || strings.Contains(got, "fn=") || strings.Contains(got, "search") {
		t.Errorf("another service keeps what was chosen of the last one: %s", got)
	}
	b.goTo("/?v=difference&q=" + url.QueryEscape(`{version="2"}`) + "&bq=" + url.QueryEscape(`{version="1"}`))
	b.settles("document.querySelector('.says')?.textContent.startsWith('version 2 costs')")
	b.press("✕ clear")
	if got := eval[string](b, "location.search"); got != "?v=difference" {
		t.Errorf("all that was chosen is cleared: %s", got)
	}

	b.goTo("/?v=waits&wb=attribute")
	b.settles("document.querySelectorAll('.waits tbody tr').length > 2")
	b.until("[...document.querySelectorAll('.waits tbody tr')].find((r) => r.textContent.includes('main.main')).click() ?? true")
	b.settles("document.querySelector('.woken')?.textContent.includes('main.main, waiting. Nothing woke it: it still waited when the recording ended.')")
}
