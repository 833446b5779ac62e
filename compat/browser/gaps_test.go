package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/server"
)

// TestGaps breaks lines where they have no points for longer than usual. A point is one letter of a text, a step each.
func TestGaps(t *testing.T) {
	b := modules(t, "gaps")
	for _, tt := range []struct {
		lines []string // x is a point, - a step without one
		want  []string // x is a point, o one alone, | is a break, . is drawn over
	}{
		{[]string{"xxxxxx"}, []string{"xxxxxx"}},
		{[]string{"xxx-xxx"}, []string{"xxx|xxx"}},                             // a step without profiles
		{[]string{"xxx-----xxx"}, []string{"xxx|xxx"}},                         // many
		{[]string{"xxxxx-x-xxxxx"}, []string{"xxxxx|o|xxxxx"}},                 // a point with gaps on both sides
		{[]string{"x--x--x--x--x"}, []string{"xxxxx"}},                         // profiles are rarer than steps
		{[]string{"x--x--x-----x--x"}, []string{"xxx|xx"}},                     // and one is missing
		{[]string{"xx-xx-xx-xx-xx"}, []string{"xxxxxxxxxx"}},                   // a profile each 1.5 steps
		{[]string{"xxxx--xx", "xxxxxxxx"}, []string{"xxxx|||xx", "xxxx.xxxx"}}, // the time between two steps is one of all lines
		{[]string{"xxx-xxx", "--xxxxx"}, []string{"xxx||xxx", "||x.xxxx"}},
		{[]string{"x-------x"}, []string{"o|o"}},
		{[]string{"-x-"}, []string{"o"}},
		{[]string{"---"}, []string{""}},
	} {
		got := eval[[]string](b, fmt.Sprintf(`(() => {
			const of = %s, times = [...of[0]].map((_, i) => 1000 * i).filter((_, i) => of.some((l) => l[i] === "x"));
			const lines = of.map((l) => ({ name: "", label: null, sum: 0, values: times.map((t) => l[t / 1000] === "x" ? 0 : null) }));
			return gaps.broken(times, lines, 1000).lines.map(({ values }) => {
				const alone = gaps.alone(values);
				return values.map((v, i) => v === null ? "|" : v === undefined ? "." : alone.includes(i) ? "o" : "x").join("");
			});
		})()`, quotedAll(tt.lines)))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.lines, got, tt.want)
		}
	}
}

func quotedAll(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = quoted(text)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// TestPerSecond: a sum is for as long as profiles are apart, and never for less than a step. A gap is no time of a sum.
func TestPerSecond(t *testing.T) {
	b := modules(t, "gaps")
	for text, want := range map[string]float64{"xxxxxx": 10, "x--x--x--x": 10.0 / 3, "x--x--x--------x--x": 10.0 / 3, "xx-xx-xx-xx": 10 / (10.0 / 7), "x": 10, "x-x-x": 5} {
		got := eval[float64](b, fmt.Sprintf(`(() => {
			const of = %q, times = [...of].flatMap((c, i) => c === "x" ? [2000 * i] : []);
			return gaps.perSecond(times, { name: "", label: null, sum: 0, values: times.map(() => 20) }, 2000).values[0];
		})()`, text))
		if got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%q: %v a second, want %v", text, got, want)
		}
	}
}

// TestRates: the axis and the legend are rates, whose unit is that of the type.
func TestRates(t *testing.T) {
	s := newServer(t)
	for i := range 30 {
		p := named("main.work", 45e9) // of a minute
		p.TimeNanos = last.Add(-time.Duration(i) * time.Minute).UnixNano()
		push(t, s, p, url.Values{"service_name": {"shop"}})
		p.SampleType[0].Type, p.SampleType[0].Unit = "written", "bytes"
		push(t, s, p, url.Values{"service_name": {"shop"}, "__name__": {"disk"}})
	}
	b := open(t, s, "/?utc=1&t=cpu")
	b.ready("document.querySelector('.legend tbody')")
	b.until("document.querySelector('.legend th.n').textContent === 'rate' && document.querySelector('.legend td.n').textContent === '0.75 cores' && document.querySelector('.legend td.n').title === '22.5 min in all'")
	b.goTo("/?utc=1&t=written")
	b.until("document.querySelector('.legend td.n')?.textContent === '715 MiB/s'")
	b = open(t, fleet(t), "/?t=memory:inuse_space:bytes:space:bytes")
	b.until("/iB$/.test(document.querySelector('.legend td.n').textContent) && document.querySelector('.legend th.n').textContent === 'mean'")
	b.shot("rates")
}

// TestPerSecond_Cut: a step that the range cuts has no point, unless each step is of one profile at most, or there are few.
func TestPerSecond_Cut(t *testing.T) {
	b := modules(t, "gaps")
	for of, want := range map[[2]int]string{{12, 1}: "-5555555555-", {12, 3}: "555555555555", {4, 1}: "5555"} {
		points, apart := of[0], of[1]
		got := eval[string](b, fmt.Sprintf(`(() => {
			const times = Array.from({ length: %d }, (_, i) => 2000 * %d * i), value = 10 * %d;
			return gaps.perSecond(times, { name: "", label: null, sum: 0, values: times.map(() => value) }, 2000, 500, times.at(-1) + 500).values.map((v) => v ?? "-").join("");
		})()`, points, apart, apart))
		if got != want {
			t.Errorf("%d points every %d steps are %s, want %s", points, apart, got, want)
		}
	}
}

// TestTick: times on the axis have the digits in which they differ.
func TestTick(t *testing.T) {
	b := modules(t, "format")
	const at = "format.zone.isUTC = true, Date.parse('2026-11-23T00:00:01.250Z')"
	for step, want := range map[int]string{5: "00:00:01.250", 50: "00:00:01.25", 250: "00:00:01.25", 500: "00:00:01.2", 1000: "00:00:01", 60_000: "00:00", 86_400_000: "Nov 23"} {
		if got := eval[string](b, fmt.Sprintf("format.tick((%s), %d)", at, step)); got != want {
			t.Errorf("a tick every %d ms is %q, want %q", step, got, want)
		}
	}
	if got := eval[string](b, "format.tick(Date.parse('2026-11-23T00:00:00Z'), 1000)"); got != "Nov 23" {
		t.Errorf("midnight is %q", got)
	}
}

// TestLineGap draws no line over ten minutes without profiles, and one elsewhere.
func TestLineGap(t *testing.T) {
	s := newServer(t)
	for i := range 120 {
		if i >= 40 && i < 60 {
			continue
		}
		p := named("main.work", int64(1+i%3)*1e9)
		p.TimeNanos = last.Add(-time.Duration(i) * 30 * time.Second).UnixNano()
		push(t, s, p, url.Values{"service_name": {"shop"}})
	}
	b := open(t, s, "/?utc=1")
	b.ready()
	b.settles("document.querySelector('.plot canvas')")
	const line = `((minutes) => {
		const plot = document.querySelector(".plot"), c = plot.querySelector("canvas"), over = plot.querySelector(".u-over").getBoundingClientRect(), all = c.getBoundingClientRect(), ratio = c.width / all.width;
		const x = Math.round((over.left - all.left + over.width * (1 - minutes / 60)) * ratio), d = c.getContext("2d").getImageData(x, 0, 1, Math.round((over.bottom - all.top - 16) * ratio)).data;
		const want = parseInt(getComputedStyle(document.documentElement).getPropertyValue("--line0").trim().slice(1), 16);
		for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - (want >> 16)) + Math.abs(d[i + 1] - (want >> 8 & 255)) + Math.abs(d[i + 2] - (want & 255)) < 40) return true;
		return false;
	})`
	for minutes, want := range map[float64]bool{5: true, 15: true, 22: false, 25: false, 28: false, 45: true} {
		if got := eval[bool](b, fmt.Sprintf("%s(%v)", line, minutes)); got != want {
			t.Errorf("%v minutes before the newest profile there is a line: %t, want %t", minutes, got, want)
		}
	}
	b.shot("gap")
	b.goTo("/?utc=1&from=latest-3s")
	b.ready()
	b.shot("seconds")
}

// TestOneGranule: of one there is no plural.
func TestOneGranule(t *testing.T) {
	s := newServer(t)
	push(t, s, named("main.work", 1e9), url.Values{"service_name": {"shop"}})
	b := open(t, s, "/")
	b.ready()
	b.says("read 1 row of 1 granule, 1 part; 1 summed")
}

// TestDefaultType chooses cpu among several types, and one of a short name that several have.
func TestDefaultType(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"allocs", "process_cpu", "sampled"} {
		p := named("main.of_"+name, 1e9)
		if name == "allocs" {
			p.SampleType[0].Type, p.SampleType[0].Unit = "alloc_space", "bytes"
		}
		push(t, s, p, url.Values{"service_name": {"shop"}, "__name__": {name}})
	}
	b := open(t, s, "/")
	for _, path := range []string{"/", "/?t=cpu"} {
		b.goTo(path)
		b.ready("document.querySelector('select.type').value === 'process_cpu:cpu:nanoseconds::'")
		b.says("main.of_process_cpu")
	}
}

// TestRefusedNode: a front says of which node its answers lack the profiles, until it is back. It has neither a store nor
// histories, and refuses these questions.
func TestRefusedNode(t *testing.T) {
	up, away := newServer(t), &refusing{Handler: newServer(t)}
	push(t, up, named("main.work", 1e9), url.Values{"service_name": {"shop"}})
	away.set(func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "it is asleep, and will be back", http.StatusServiceUnavailable)
		return true
	})
	a, b := httptest.NewServer(up), httptest.NewServer(away)
	t.Cleanup(func() { a.Close(); b.Close() })
	front, err := server.NewFront(server.Nodes{URLs: []string{a.URL, b.URL}, PartialAnswers: true}, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Wait(context.Background()) })
	page := open(t, front, "/?utc=1&from=2026-11-23T09:00:00Z&to=2026-11-23T10:00:01Z")
	page.ready()
	page.says("The answers are partial, without node " + b.URL + ": 503 it is asleep, and will be back")
	page.settles("document.querySelectorAll('.banner').length === 1 && document.querySelector('.banner').textContent.split('node http').length === 2")
	page.shot("partial")
	away.set(func(http.ResponseWriter, *http.Request) bool { return false })
	page.press("↻")
	page.ready("!document.querySelector('.banner')")
}
