package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ready is true when a flame graph and its table are of the same question, and drawn.
const ready = "document.querySelector('.flame canvas')?.width > 300 && document.querySelector('table.top tbody tr') && document.querySelector('.plot canvas') && !document.querySelector('.old')"

func query(b *tab) string {
	b.t.Helper()
	return eval[string](b, "decodeURIComponent(location.search)")
}

func details(b *tab) string {
	b.t.Helper()
	return eval[string](b, "document.querySelector('#details').textContent")
}

// TestPath is what a user does: loads, drags over the chart, goes back, zooms, searches, and loads again.
func TestPath(t *testing.T) {
	b := open(t, fleet(t), "/?by=pod")
	b.ready()
	b.says("compile-0")
	const total = "document.querySelector('.total')?.textContent"
	whole := eval[string](b, total)
	b.drag(".plot .u-over", 0.5, 0.75)
	b.until("location.search.includes('from=2026')")
	b.ready(total + " !== " + quoted(whole))
	b.press("‹ back")
	b.until("!location.search.includes('from=2026')")
	b.ready(total + " === " + quoted(whole))

	x, y := b.point(".flame", 0.1, 0)
	run(b, chromedp.MouseClickXY(x, y+30)) // a frame of the first level below the root
	b.until("/[?&]z=[0-9a-f]+/.test(location.search)")
	if zoomed := details(b); strings.HasPrefix(zoomed, "all") {
		t.Errorf("the details are of %q", zoomed)
	}
	b.click("#search")
	eval[any](b, "document.querySelector('#search').focus()")
	b.keys("m", "a", "l", "l", "o", "c")
	b.until("new URLSearchParams(location.search).get('s') === 'malloc'") // a slow machine asks for a part of it too
	b.ready("/%/.test(document.querySelector('.search output')?.textContent)")
	before := query(b)
	b.goTo("/" + eval[string](b, "location.search"))
	b.ready("/%/.test(document.querySelector('.search output')?.textContent)")
	if query(b) != before {
		t.Errorf("loaded again it is %s, not %s", query(b), before)
	}
	b.press("✕ clear")
	b.until("!/[?&][zs]=/.test(location.search)")
}

// TestPathByKeys is the same by keys alone.
func TestPathByKeys(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	b.focusGraph()
	b.keys(kb.ArrowDown)
	b.until("document.querySelector('[aria-selected=true][role=treeitem]')?.getAttribute('aria-level') === '2'")
	name := eval[string](b, "document.querySelector('[aria-selected=true][role=treeitem]').textContent")
	if details(b) != name {
		t.Errorf("the tree says %q, the line %q", name, details(b))
	}
	b.keys(kb.ArrowRight, kb.ArrowLeft, kb.Enter)
	b.until("location.search.includes('z=')")
	b.keys(kb.Escape)
	b.until("!location.search.includes('z=')")
	b.keys("]")
	b.ready("location.search.includes('from=2026')")
	b.keys("u")
	b.ready("!location.search.includes('from=2026')")
	b.focusGraph()
	b.keys("+")
	b.until("location.search.includes('win=')")
	b.keys("-")
	b.until("!location.search.includes('win=')")
	b.focusGraph()
	b.command("/")
	b.keys("g", "c", kb.Enter)
	b.until("location.search.includes('s=gc') && document.activeElement.getAttribute('role') === 'tree'")
	b.keys("n")
	b.until("document.querySelector('[role=status].sr')?.textContent.startsWith('hit 1 of')")
	hit, _, _ := strings.Cut(details(b), " ")
	b.keys("s")
	b.settles("location.search.includes('v=sandwich') && document.querySelectorAll('[role=tree]').length === 2")
	if got := eval[string](b, "document.querySelector('.wide input').value"); got != hit {
		t.Errorf("the sandwich is of %q, not of %q", got, hit)
	}
	b.focusGraph()
	b.keys("d")
	b.settles("location.search.includes('v=difference') && document.querySelector('.change-key')")
	b.focusGraph()
	b.keys("i")
	b.until("location.search.includes('inv=1')")
}

// TestPathDifference compares by a preset, then shows one side alone.
func TestPathDifference(t *testing.T) {
	b := open(t, fleet(t), "/?v=difference&from=latest-30m")
	b.says("Choose what to compare with")
	b.press("an hour before")
	b.settles("location.search.includes('bfrom=latest-90m') && document.querySelector('.change-key')")
	b.until("/[+−]/.test(document.querySelector('table.top tbody td.n')?.textContent)")
	b.press("before")
	b.until("location.search.includes('side=before')")
	b.press("gone")
	b.settles("location.search.includes('ch=gone') && document.body.innerText.includes('No function is of this kind.')")
	b.press("on both sides")
	b.settles("location.search.includes('ch=both') && document.querySelectorAll('table.top tbody tr').length > 50")
	b.press("scaled to the same total")
	b.settles("location.search.includes('norm=1') && document.querySelector('.total')?.textContent.includes('±0 %')")
	b.drag(".plot .u-over", 0.1, 0.3, chromedp.ButtonModifiers(chromedp.ModifierShift))
	b.until("location.search.includes('bfrom=2026')")
}

// TestPathMenu asks by the menu of a frame, and by the table.
func TestPathMenu(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	x, y := b.point(".flame", 0.1, 0)
	run(b, chromedp.MouseClickXY(x, y+30, chromedp.ButtonRight))
	b.press("only stacks with it")
	b.ready("location.search.includes('focus=')")
	b.press("‹ back")
	b.ready("!location.search.includes('focus=')")
	b.click("table.top .to-sandwich")
	b.settles("document.querySelectorAll('[role=tree]').length === 2")
	b.click("#tab-profiles")
	b.until("document.querySelector('table.list tbody tr')")
	b.click("table.list tbody .link")
	b.ready("location.search.includes('to=2026')")
	b.click("#tab-store")
	b.says("Nothing was evicted or dropped.")
}

// TestSelector completes a selector by keys.
func TestSelector(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	eval[any](b, "document.querySelector('[role=combobox]').focus()")
	b.keys("{", "s", "e", "r")
	b.settles("document.querySelector('#choices li')?.textContent === 'service_name'") // a later answer chooses nothing
	b.keys(kb.ArrowDown, kb.Enter)
	b.settles("document.querySelector('#choices li')?.textContent === 'compile'")
	b.keys(kb.ArrowDown, kb.ArrowDown, kb.Enter, kb.Enter)
	b.until(`new URLSearchParams(location.search).get('q') === '{service_name="etcd"}'`)
	b.ready()
}

// TestOneCommit: the panels of one load ask for one commit.
func TestOneCommit(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	b.mu.Lock()
	defer b.mu.Unlock()
	with, without := 0, 0
	for _, asked := range b.asked {
		if !strings.HasPrefix(asked, "/api/v1/top") {
			continue
		}
		if strings.Contains(asked, "commit=") {
			with++
		} else {
			without++
		}
	}
	if with == 0 || without > b.gone {
		t.Errorf("asked with a commit %d times, without %d times, and %d commits were held no more", with, without, b.gone)
	}
}

// TestInspect asks why an answer is so.
func TestInspect(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/inspect" || r.URL.Query().Get("t") == "" {
			return false
		}
		_, _ = w.Write([]byte(`{"commit": 0, "touched": {"granules": 3, "parts": 5, "rows": 81920, "chosen": 70000}, "all": {"granules": 41, "parts": 90, "rows": 1000000, "bytes": 1},
			"command": "granary top --from A '<b>'", "granules": [{"from": ["1", "<i>"], "to": [], "rows": 7, "bytes": 2048, "parts": [{"base": true, "rows": 7, "bytes": 2048}]}]}`))
		return true
	})
	b := open(t, s, "/?v=store")
	b.press("ask what the question reads")
	b.says("It reads 81,920 of 1,000,000 rows in 3 of 41 granules")
	b.says("granary top --from A '<b>'")
	b.says("<i>")
	s.set(func(http.ResponseWriter, *http.Request) bool { return false }) // and what the server says itself
	b.press("↻")
	b.until("document.querySelectorAll('.granules tbody tr').length > 1")
}

// TestCopy copies a stack and a link; the page's clipboard is written down.
func TestCopy(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	eval[any](b, "navigator.clipboard.writeText = async (text) => { window.copied = text; }; null")
	b.focusGraph()
	b.keys(kb.ArrowDown, kb.ArrowDown, "c")
	b.until("window.copied?.split('\\n').length === 2")
	b.press("share")
	b.press("copy a link with fixed times")
	b.until("window.copied?.includes('from=2026-11-23T09%3A00%3A00Z')")
	b.goTo(strings.TrimPrefix(eval[string](b, "window.copied"), b.url))
	b.ready()
	b.press("share")
	b.until("document.querySelector('[role=menu] a[download]').href.includes('/pprof?type=')")
}

// TestAccessibility: the browser tells readers of the frame that the keys walk to.
func TestAccessibility(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	b.focusGraph()
	b.keys(kb.ArrowDown)
	b.until("document.querySelector('[role=treeitem][aria-selected=true]')?.getAttribute('aria-level') === '2'")
	want := details(b)
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range tree.Nodes {
		if n.Role == nil || string(n.Role.Value) != `"treeitem"` || !strings.Contains(string(n.Name.Value), strings.Fields(want)[0]) {
			continue
		}
		for _, p := range n.Properties {
			if p.Name == "level" && string(p.Value.Value) == "2" && strings.Contains(string(n.Name.Value), "% of all") {
				return
			}
		}
	}
	t.Errorf("no item of level 2 is named %q", want)
}

// TestShortType: an address may have the short name of a type. All panels are of the whole one, with its unit.
func TestShortType(t *testing.T) {
	b := open(t, fleet(t), "/?t=cpu")
	b.ready()
	if d := details(b); !strings.Contains(d, " min total") && !strings.Contains(d, " s total") {
		t.Errorf("the details are of %q", d)
	}
}

// TestLineInStep: the line at the bottom is of the frame that has the focus, before the next key, and stays when the
// chart is made again.
func TestLineInStep(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	for _, key := range []string{"ArrowDown", "ArrowDown", "ArrowUp", "Enter", "Escape"} {
		// The promises that are due are done, and no frame is drawn yet.
		got := eval[[2]string](b, `(async () => {
			document.querySelector("[role=tree]").dispatchEvent(new KeyboardEvent("keydown", { key: "`+key+`", bubbles: true }));
			for (let i = 0; i < 50; i++) await null;
			return [document.querySelector("#details").textContent, document.querySelector("[role=treeitem][aria-selected=true]").textContent];
		})()`)
		if got[0] != got[1] {
			t.Errorf("after %s the tree says %q, the line %q", key, got[1], got[0])
		}
	}
	want := details(b)
	eval[any](b, "document.querySelector('.plot canvas').isOld = true; dispatchEvent(new Event('theme')); null")
	b.settles("!document.querySelector('.plot canvas').isOld")
	if got := details(b); got != want || want == "" {
		t.Errorf("the chart is made again, and the line says %q, not %q", got, want)
	}
}
