package browser

import (
	"fmt"
	"os"
	"testing"
)

// views has an address of each view, and what is true when it is there.
var views = map[string][2]string{
	"services":   {"/?v=services", services},
	"charts":     {"/?v=services&look=cards&l=pod", "document.querySelector('.service-cards .spark path')"},
	"flame":      {"/?by=pod", ready},
	"search":     {"/?by=service_name&s=malloc", ready},
	"memory":     {"/?t=memory:inuse_space:bytes:space:bytes&inv=1", "document.querySelector('.flame canvas')"},
	"sandwich":   {"/?v=sandwich&fn=runtime.mallocgc", "document.querySelectorAll('.flame canvas').length === 2"},
	"graph":      {"/?v=graph", "document.querySelectorAll('.call-node').length === 40"},
	"lines":      {"/?gran=line&group=pod&fold=1", ready},
	"difference": {"/?v=difference&from=latest-30m&bfrom=latest-90m&bto=latest-60m", "document.querySelector('.change-key')"},
	"timeline":   {"/?v=timeline&q={service_name=\"etcd\"}", "document.querySelector('.timeline canvas')?.width > 300"},
	"source":     {"/?v=source&fn=runtime.mallocgc", "document.querySelector('.lines-of tbody tr')"},
	"profiles":   {"/?v=profiles", "document.querySelector('table.list tbody tr')"},
	"store":      {"/?v=store", "document.querySelector('.budget')"},
	"nothing":    {"/?from=latest-1h&to=latest-59m&q={pod=\"none\"}", "document.querySelector('.message button')"},
}

// TestViews looks at each view, light and dark, wide and narrow, with axe. The pictures are kept by GRANARY_SHOTS.
func TestViews(t *testing.T) {
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	s := fleet(t)
	for name, view := range views {
		t.Run(name, func(t *testing.T) {
			b := open(t, s, view[0])
			b.settles(view[1] + " && document.querySelector('.plot canvas, .services')")
			eval[any](b, string(axe)+"; null")
			for _, scheme := range []string{"light", "dark"} {
				b.colours(scheme)
				for _, width := range []int64{1440, 600} {
					b.width(width)
					if scheme == "light" || width > 1000 { // the colours are the same at each width
						for _, v := range violations(b) {
							t.Errorf("%s, %d pixels: %s", scheme, width, v)
						}
					}
					if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > width {
						t.Errorf("the page is %d pixels wide in a window of %d", wide, width)
					}
					b.shot(name + "-" + scheme + "-" + map[int64]string{1440: "wide", 600: "narrow"}[width])
				}
			}
		})
	}
}

// axe looks at the page as it is with axe.
func (b *tab) axe() {
	b.t.Helper()
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	if err != nil {
		b.t.Fatal(err)
	}
	eval[any](b, string(axe)+"; null")
	for _, v := range violations(b) {
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
			for _, v := range violations(b) {
				b.t.Errorf("%s, %d pixels: %s", scheme, width, v)
			}
			b.shot(fmt.Sprintf("%s-%s-%d", name, scheme, width))
		}
	}
}

// violations returns what axe finds, by rule and place.
func violations(b *tab) []string {
	b.t.Helper()
	return eval[[]string](b, `axe.run(document, { resultTypes: ["violations"] }).then((r) =>
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
