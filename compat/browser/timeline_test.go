package browser

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/server"
)

// phases returns a server with a sample a second of two threads for two minutes: the first is in load, in parse below it for the
// second half of each ten seconds, and nowhere from 60 to 80; the second one is in serve.
func phases(t *testing.T) *server.Server {
	t.Helper()
	s := newServer(t)
	for i := range 120 {
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
			TimeNanos: last.Add(time.Duration(i-119) * time.Second).UnixNano(), DurationNanos: 1e9,
		}
		add := func(thread string, names ...string) {
			var locations []*profile.Location
			for _, name := range names {
				id := uint64(len(p.Location) + 1)
				f := &profile.Function{ID: id, Name: name}
				l := &profile.Location{ID: id, Line: []profile.Line{{Function: f, Line: 1}}}
				p.Function, p.Location, locations = append(p.Function, f), append(p.Location, l), append(locations, l)
			}
			p.Sample = append(p.Sample, &profile.Sample{Location: locations, Value: []int64{int64(2e7 / len(thread))}, Label: map[string][]string{"thread": {thread}}})
		}
		if i < 60 || i >= 80 {
			if i%10 < 5 {
				add("1", "main.load", "main.main")
			} else {
				add("1", "main.parse", "main.load", "main.main")
			}
		}
		add("22", "main.serve", "main.main")
		push(t, s, p, url.Values{"service_name": {"phases"}})
	}
	return s
}

// described is the text of the frame that keys are at.
const described = "document.getElementById('run-at')?.textContent"

// TestTimeline: frames are where they were in time, on the axis of the chart, and a gap is one. A frame chooses its time.
func TestTimeline(t *testing.T) {
	b := open(t, phases(t), `/?utc=1&v=timeline&q={thread="1"}&from=latest-119s`)
	b.until(described + "?.startsWith('main.main')")
	b.settles("document.querySelector('.timeline canvas')?.width > 300 && document.querySelector('.plot canvas')")
	b.shot("timeline")
	if got := eval[string](b, described); !strings.Contains(got, "2026-11-23 09:58:01 + 1 min") {
		t.Errorf("the first frame is %q", got)
	}
	if off := eval[float64](b, `(() => {
		const over = document.querySelector(".plot .u-over").getBoundingClientRect(), c = document.querySelector(".timeline canvas"), all = c.getBoundingClientRect(), ratio = c.width / all.width;
		const d = c.getContext("2d").getImageData(0, Math.round(5 * ratio), c.width, 1).data, surface = [d[0], d[1], d[2]].join();
		let first = 0; while ([d[4 * first], d[4 * first + 1], d[4 * first + 2]].join() === surface) first++;
		let end = c.width - 1; while ([d[4 * end], d[4 * end + 1], d[4 * end + 2]].join() === surface) end--;
		return Math.abs(first / ratio + all.left - over.left) + Math.abs(end / ratio + all.left - over.right);
	})()`); off > 4 {
		t.Errorf("the frames are %v pixels from the axis of the chart", off)
	}
	b.click(".timeline .beside")
	eval[any](b, "document.querySelector('.timeline .beside').focus(); null")
	b.keys(kb.ArrowRight)
	b.until(described + ".includes('09:59:21 + ')") // after the gap
	b.keys(kb.ArrowLeft, kb.ArrowDown)
	b.until(described + ".startsWith('main.load')")
	b.keys(kb.ArrowDown, kb.Home)
	b.until(described + ".startsWith('main.parse') && " + described + ".includes('09:58:06 + 5 s')")
	b.keys(kb.Enter)
	b.until("location.search.includes('from=2026-11-23T09%3A58%3A06Z&to=2026-11-23T09%3A58%3A11Z')")
	b.goTo(`/?utc=1&v=timeline&from=latest-119s`)
	b.says("100 stacks more are behind them.")
	x, y := b.point(".timeline-place", 0.3, 0.02)
	run(b, chromedp.MouseEvent("mouseMoved", x, y))
	b.until("document.getElementById('details').textContent.startsWith('main.main')")
	b.goTo("/?v=timeline&q={thread=\"none\"}")
	b.until("document.querySelector('.message button')")
}

// TestTimelineRuns joins equal frames, and breaks them at gaps.
func TestTimelineRuns(t *testing.T) {
	b := modules(t, "timeline")
	for columns, want := range map[string]string{ // a letter is the leaf below one root, - a column without samples
		"aabb": "0-4 | a0-2 b2-4", "aa-----aa": "0-2 7-9 | a0-2 a7-9", "a": "0-1 | a0-1", "a--a--a--a": "0-12 | a0-12", "aba": "0-3 | a0-1 b1-2 a2-3",
	} {
		got := eval[string](b, fmt.Sprintf(`(() => {
			const all = [...%q], kept = all.flatMap((c, i) => c === "-" ? [] : [i]), leaf = (c) => c === "a" ? 1 : 2;
			const of = { step: 1e9, time: kept.map((i) => new Date(1e12 + 1000 * i).toISOString()), node: kept.map((i) => leaf(all[i])), value: kept.map(() => 1), total: [], stacks: kept.map(() => 1), parent: [-1, 0, 0], function: [0, 1, 2], names: ["", "a", "b"] };
			const r = timeline.runsOf(of);
			return r.levels.map((l) => l.map((x) => of.names[x.function] + (x.from - 1e12) / 1000 + "-" + (x.to - 1e12) / 1000).join(" ")).join(" | ");
		})()`, columns))
		if got != want {
			t.Errorf("%q: %s, want %s", columns, got, want)
		}
	}
}
