package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestPictureTime bounds the time from an answer of 16,384 frames to its picture: best of rounds, as others use the machine.
func TestPictureTime(t *testing.T) {
	b := modules(t, "tree", "flame")
	eval[any](b, record+"globalThis.look = look; globalThis.text = "+quoted(heap(t))+"; null")
	best := b.best(100, func() float64 {
		return eval[float64](b, `(() => {
			const canvas = document.createElement("canvas"); canvas.width = 1000; canvas.height = 560;
			const ctx = canvas.getContext("2d", { willReadFrequently: true }), start = performance.now(), c = JSON.parse(text);
			for (const f of ["depth", "function"]) c[f] = c[f].slice(0, 16384);
			c.self = c.self.map((s) => s.slice(0, 16384)); c.others = [];
			const t = new tree.Tree(c); t.lay("", false);
			flame.draw(ctx, t, { width: 1000, height: 560, top: 0, zoomed: 0, isUp: false }, { ...look, fills: ["#f5cfa6"], group: t.group("") });
			ctx.getImageData(0, 0, 1, 1);
			return performance.now() - start;
		})()`)
	})
	t.Logf("16,384 frames from JSON to a picture: %.1f ms", best)
	if best > 100 {
		t.Errorf("16,384 frames take %.1f ms to a picture, at most 100", best)
	}
}

// TestLinesTime bounds the chart of 200 series with 360 points each: from the answer to the last line.
func TestLinesTime(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/SelectSeries") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(manySeries())
		return true
	})
	b := open(t, s, "/?by=pod")
	b.until("document.querySelectorAll('.legend tbody tr').length === 6 && document.querySelector('.plot canvas')")
	b.says("195 others")
	best := b.best(150, func() float64 {
		b.settles("true")
		busy := b.busy()
		wall := eval[float64](b, `new Promise((done) => {
			const old = document.querySelector(".plot canvas"), fetched = fetch;
			let start = 0;
			window.fetch = async (...a) => { const r = await fetched(...a); if (String(a[0]).includes("SelectSeries")) start ||= performance.now(); return r; };
			const look = () => { const now = document.querySelector(".plot canvas"); if (start && now && now !== old) { window.fetch = fetched; done(performance.now() - start); } else requestAnimationFrame(look); };
			look();
			document.querySelector("[aria-label='ask again']").click();
		})`)
		// Others use the machine: of the time that passes, the page has only some. Its own is that of all of the round.
		return min(wall, b.busy()-busy)
	})
	t.Logf("200 series of 360 points: %.1f ms", best)
	if best > 150 {
		t.Errorf("200 series of 360 points take %.1f ms, at most 150", best)
	}
}

// busy returns the milliseconds of a processor that the main thread of the page has had.
func (b *tab) busy() float64 {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		b.t.Fatal(err)
	}
	all, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, m := range all.Metrics {
		if m.Name == "ThreadTime" {
			return 1000 * m.Value
		}
	}
	b.t.Fatal("the browser does not tell the time of a thread")
	return 0
}

func manySeries() []byte {
	var out bytes.Buffer
	out.WriteString(`{"series": [`)
	for i := range 200 {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"labels": [{"name": "pod", "value": "pod-%d"}], "points": [`, i)
		for k := range 360 {
			if k > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(&out, `{"value": %d, "timestamp": "%d"}`, (i*31+k*17)%1000+i, last.Add(-time.Duration(k)*10*time.Second).UnixMilli())
		}
		out.WriteString(`]}`)
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

// TestHeap bounds the memory of the page after 50 questions.
func TestHeap(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	for i := range 50 {
		state, _ := json.Marshal("?by=pod&q=" + url.QueryEscape(fmt.Sprintf(`{pod!="none-%d"}`, i)))
		eval[any](b, `history.pushState(null, "", `+string(state)+`); dispatchEvent(new PopStateEvent("popstate")); null`)
		b.ready()
	}
	if _, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	heap, err := chromedp.Call(b.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("after 50 questions: %.0f MB", heap.UsedSize/1e6)
	if heap.UsedSize > 64<<20 {
		t.Errorf("the page has %.0f MB after 50 questions, at most 64 MiB", heap.UsedSize/1e6)
	}
}
