package browser

import (
	"fmt"
	"net/http"
	"os"
	"testing"
)

// view is a view of the page: its address, an expression that is true when it is there, and the button that is pressed then. One that
// is like another one is looked at in one width.
type view struct {
	name, path, there string
	press             string
	isLike            bool
}

// views are all of them, of each server of everyServer.
var views = []view{
	{name: "services", path: "/shop/?v=services", there: "document.querySelector('.services .spark path') && document.querySelector('.services td.function span')"},
	{name: "charts", path: "/shop/?v=services&look=cards&l=pod", there: "document.querySelector('.service-cards .spark path')"},
	{name: "flame", path: "/?v=flame&by=pod", there: ready},
	{name: "search", path: "/?by=service_name&s=malloc", there: ready, isLike: true},
	{name: "around", path: "/?near=runtime.mallocgc", there: ready + " && " + around},
	{name: "memory", path: "/?t=memory:inuse_space:bytes:space:bytes&inv=1", there: "document.querySelector('.flame canvas')", isLike: true},
	{name: "lines", path: "/?gran=line&group=pod&fold=1&c=value", there: ready, isLike: true},
	{name: "sandwich", path: "/?v=sandwich&fn=runtime.mallocgc", there: "document.querySelectorAll('.flame canvas').length === 2"},
	{name: "graph", path: "/?v=graph", there: "document.querySelectorAll('.call-node').length === 40"},
	{name: "source", path: "/?v=source&fn=runtime.mallocgc", there: "document.querySelector('.lines-of tbody tr')"},
	{name: "difference", path: "/?v=difference&from=latest-30m&bfrom=latest-90m&bto=latest-60m&near=runtime.mallocgc", there: "document.querySelector('.change-key') && " + around},
	{name: "sides", path: "/?v=difference", there: "document.querySelector('.message')"},
	{name: "timeline", path: "/?v=timeline&q={service_name=\"etcd\"}", there: "document.querySelector('.timeline canvas')?.width > 100"},
	{name: "rows", path: "/threads/?c=state", there: readyStates},
	{name: "chosen", path: "/threads/?st=running", there: readyStates, isLike: true},
	{name: "states", path: "/threads/?v=states", there: "document.querySelector('table.bars tbody tr')"},
	{name: "meanwhile", path: "/threads/?v=states&at=Threads%2F3&st=running&mw=1", there: "document.querySelector('.flame canvas')"},
	{name: "goroutines", path: "/trace/?ro=wlas", there: "document.querySelector('.state-rows canvas')?.width > 100"},
	{name: "waits", path: "/trace/?v=waits", there: "document.querySelectorAll('.waits tbody tr').length > 2"},
	{name: "latency", path: "/trace/?v=waits&wb=latency", there: "document.querySelectorAll('.waits tbody tr').length > 2", isLike: true},
	{name: "profiles", path: "/?v=profiles", there: "document.querySelector('table.list tbody tr')"},
	{name: "store", path: "/?v=store", there: "document.querySelector('.budget')"},
	{name: "nothing", path: "/?from=latest-1h&to=latest-59m&q={pod=\"none\"}", there: "document.querySelector('.message button')"},
	{name: "keys", path: "/?v=store", there: "document.querySelector('.budget')", press: "?"},
	{name: "share", path: "/?v=store", there: "document.querySelector('.budget')", press: "share"},
	{name: "times", path: "/?v=store", there: "document.querySelector('.budget')", press: "▾"},
	{name: "menu", path: "/?v=flame", there: ready, press: "view ▾"},
}

// everyServer answers below a path each: the fleet, services, threads, and a Go trace.
func everyServer(t *testing.T) http.Handler {
	t.Helper()
	all := http.NewServeMux()
	all.Handle("/", fleet(t))
	for name, s := range map[string]http.Handler{"shop": shop(t), "threads": threads(t, 40, 900), "trace": recorded(t)} {
		all.Handle("/"+name+"/", http.StripPrefix("/"+name, s))
	}
	return all
}

// TestViews looks at each view with axe, light and dark, on a phone, a laptop and a large screen, in one tab. The pictures are kept by
// GRANARY_SHOTS.
func TestViews(t *testing.T) {
	b := open(t, everyServer(t), "/?v=store")
	for _, v := range views {
		b.goTo(v.path)
		b.settles(v.there)
		if v.press != "" {
			b.press(v.press)
		}
		b.loadAxe()
		widths := []int64{2560, 1280, 390}
		if v.isLike {
			widths = []int64{1280}
		}
		for _, scheme := range []string{"light", "dark"} {
			b.colours(scheme)
			for _, width := range widths {
				b.width(width)
				at := fmt.Sprintf("%s, %s, %d pixels", v.name, scheme, width)
				rules := allRules
				if scheme == "dark" {
					rules = "{ runOnly: ['color-contrast'] }" // the others are of both
				}
				for _, wrong := range violations(b, rules) {
					t.Errorf("%s: %s", at, wrong)
				}
				if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > width {
					t.Errorf("%s: the page is %d pixels wide", at, wide)
				}
				if flat := eval[int](b, "[...document.querySelectorAll('.flame')].filter((e) => e.clientHeight < 36).length"); flat > 0 {
					t.Errorf("%s: %d graphs have no room", at, flat)
				}
				b.shot(fmt.Sprintf("%s-%s-%d", v.name, scheme, width))
			}
			if os.Getenv("GRANARY_SHOTS") != "" {
				b.width(1920)
				b.shot(fmt.Sprintf("%s-%s-1920", v.name, scheme))
			}
		}
		b.colours("light")
	}
}

// loadAxe puts axe into the page.
func (b *tab) loadAxe() {
	b.t.Helper()
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	if err != nil {
		b.t.Fatal(err)
	}
	eval[any](b, string(axe)+"; null")
}

// axe looks at the page as it is with axe.
func (b *tab) axe() {
	b.t.Helper()
	b.loadAxe()
	for _, v := range violations(b, allRules) {
		b.t.Error(v)
	}
}

// looks looks at the page with axe, light and dark, at each width. The pictures are kept by GRANARY_SHOTS.
func (b *tab) looks(name string, widths ...int64) {
	b.t.Helper()
	b.axe()
	for _, scheme := range []string{"light", "dark"} {
		b.colours(scheme)
		for _, width := range widths {
			b.width(width)
			for _, v := range violations(b, allRules) {
				b.t.Errorf("%s, %d pixels: %s", scheme, width, v)
			}
			b.shot(fmt.Sprintf("%s-%s-%d", name, scheme, width))
		}
	}
}

// allRules are those of WCAG 2.2 AA and good practice. axe leaves the size of targets out unless it is asked for.
const allRules = "{ rules: { 'target-size': { enabled: true } } }"

// violations returns what axe finds, by rule and place.
func violations(b *tab, rules string) []string {
	b.t.Helper()
	return eval[[]string](b, `axe.run(document, { resultTypes: ["violations"], ...`+rules+` }).then((r) =>
		r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + v.help + ": " + n.target.join(" ") + " " + (n.any[0]?.message ?? ""))))`)
}

// TestHelp opens the list of keys by its key, and closes it.
func TestHelp(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	b.focusGraph()
	b.keys("?")
	b.until("document.querySelector('dialog[open] kbd')")
	b.press("close")
	b.until("!document.querySelector('dialog')")
}
