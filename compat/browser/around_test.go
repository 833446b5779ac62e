package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const around = "document.querySelector('.around .both') && !document.querySelector('.around .old')"

// listed returns the rows of a list of callers or callees.
func listed(b *tab, list string) []string {
	b.t.Helper()
	return eval[[]string](b, "[...document.querySelectorAll('."+list+" tbody tr')].map((r) => [...r.cells].map((c) => c.textContent).join('|'))")
}

// TestAround: the callers and callees of a frame are shown below the graph, with their values, and one leads to the next.
func TestAround(t *testing.T) {
	b := open(t, sourced(t), "/")
	b.ready()
	b.focusGraph()
	b.keys(kb.ArrowDown, "a")
	b.settles(around + " && document.activeElement.closest('.callees')")
	for list, want := range map[string]string{"callers": "no caller|280 ms|100 %", "callees": "its own|240 ms|85.7 %;cart.tax|40 ms|14.3 %"} {
		if got := strings.Join(listed(b, list), ";"); got != want {
			t.Errorf("%s of cart.total are %q, want %q", list, got, want)
		}
	}
	b.says("280 ms, 100 % of all")
	b.keys(kb.Enter)
	b.settles(around + " && new URLSearchParams(location.search).get('near') === 'cart.tax' && document.activeElement.textContent === 'cart.total'")
	for list, want := range map[string]string{"callers": "cart.total|40 ms|100 %", "callees": "its own|40 ms|100 %"} {
		if got := strings.Join(listed(b, list), ";"); got != want {
			t.Errorf("%s of cart.tax are %q, want %q", list, got, want)
		}
	}
	b.keys("u")
	b.settles(around + " && new URLSearchParams(location.search).get('near') === 'cart.total' && document.activeElement.closest('.around')")
	b.keys(kb.Escape)
	b.settles("!document.querySelector('.around') && document.activeElement.getAttribute('role') === 'tree'")
	b.goTo(`/?v=difference&q={version="2"}&bq={version="1"}&near=cart.tax`)
	b.settles(around)
	if got := listed(b, "callers"); len(got) != 1 || got[0] != "cart.total|20 ms|±0 %" {
		t.Errorf("callers of cart.tax in the difference: %q", got)
	}
}

// TestAroundFleet follows clicks: in the graph, in the lists, and in the menu of a frame.
func TestAroundFleet(t *testing.T) {
	b := open(t, fleet(t), "/?s=^runtime[.]mallocgc$")
	b.ready()
	b.focusGraph()
	b.keys("n", "a")
	b.settles(around + " && document.activeElement.closest('.callers')")
	rows := eval[float64](b, "document.querySelector('.flame').clientHeight / 18")
	if rows < 12 {
		t.Errorf("the graph has %.1f rows above the lists", rows)
	}
	first := eval[string](b, "document.activeElement.textContent")
	b.keys(kb.ArrowDown)
	if second := eval[string](b, "document.activeElement.textContent"); second == first {
		t.Errorf("the arrow stays at %q", first)
	}
	b.keys(kb.ArrowRight)
	b.until("document.activeElement.closest('.callees')")
	b.shot("around")
	b.click(".callees .link")
	b.settles(around + " && new URLSearchParams(location.search).get('near') !== 'runtime.mallocgc'")
	if got := listed(b, "callers"); !strings.Contains(strings.Join(got, "\n"), "runtime.mallocgc|") {
		t.Errorf("runtime.mallocgc is no caller of its callee: %q", got)
	}
	b.goTo("/")
	b.ready()
	x, y := b.point(".flame", 0.1, 0)
	run(b, chromedp.MouseClickXY(x, y+30, chromedp.ButtonRight))
	b.press("callers and callees here")
	b.settles(around)
	before := eval[string](b, "document.querySelector('.around h2').textContent")
	run(b, chromedp.MouseClickXY(x, y+48)) // a click on another frame leads the lists on
	b.settles(around + " && document.querySelector('.around h2').textContent !== " + quoted(before) + " && location.search.includes('z=')")
	b.click(".around [aria-label='close callers and callees']")
	b.settles("!document.querySelector('.around')")
}
