package browser

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/profile"
)

var update = flag.Bool("update", false, "write golden files")

// modules opens a tab with modules of the page's sources as globals.
func modules(t *testing.T, names ...string) *tab {
	t.Helper()
	b := open(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "/")
	for _, name := range names {
		src, err := filepath.Abs(filepath.Join("..", "..", "server", "ui", "src", name+".ts"))
		if err != nil {
			t.Fatal(err)
		}
		out := api.Build(api.BuildOptions{EntryPoints: []string{src}, Bundle: true, Format: api.FormatIIFE, GlobalName: name, Target: api.ES2022})
		if len(out.Errors) > 0 {
			t.Fatal(out.Errors)
		}
		eval[any](b, string(out.OutputFiles[0].Contents)+"; globalThis."+name+" = "+name+"; null")
	}
	return b
}

// TestFormatValue holds the page to profile.FormatValue.
func TestFormatValue(t *testing.T) {
	type value struct {
		Value int64  `json:"value"`
		Unit  string `json:"unit"`
		Text  string `json:"text"`
	}
	var want []value
	random := rand.New(rand.NewPCG(1, 2))
	for _, unit := range []string{"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes", "count", "", "samples"} {
		for _, v := range []int64{0, 1, -1, 999, 1000, 1023, 1024, 1125, 1375, 9995, 12_500, 99_950, 99_949, 100_500, 101_500, 999_499, 999_500, 1<<20 + 1<<17, 3_600_000_000_000, -2_500_000, 1<<53 - 1} {
			want = append(want, value{v, unit, profile.FormatValue(v, unit)})
		}
		for range 60 {
			v := int64(math.Pow(2, random.Float64()*52))
			want = append(want, value{v, unit, profile.FormatValue(v, unit)})
		}
	}
	golden(t, "format.json", want)
	b := modules(t, "format")
	input, _ := json.Marshal(want)
	for i, got := range eval[[]string](b, fmt.Sprintf("%s.map((c) => format.value(c.value, c.unit))", input)) {
		if w := want[i]; got != w.Text {
			t.Errorf("value(%d, %q) is %q, want %q", w.Value, w.Unit, got, w.Text)
		}
	}
}

// golden compares a value with a file, or writes it.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(text) {
		t.Errorf("%s is another: run with -update and look at the change", path)
	}
}

// TestAddress writes random states as addresses and reads them again.
func TestAddress(t *testing.T) {
	b := modules(t, "url")
	bad := eval[[]string](b, `(() => {
		const bad = [], texts = ["", "1", "-1h", "{a=\"b\",c!~\"d.*\"}", "^runtime[.]", "a&b=c#d%20+e", "\u202e\ud83d\ude00", "2026-11-23T10:00:00Z", " "];
		let seed = 1;
		const next = (n) => (seed = (seed * 48271) % 2147483647) % n;
		for (let i = 0; i < 1000; i++) {
			const state = { ...url.defaults };
			for (const f in state) if (next(2)) state[f] = texts[next(texts.length)];
			const again = url.parse(url.print(state));
			if (JSON.stringify(again) !== JSON.stringify(state)) bad.push(JSON.stringify(state));
		}
		if (url.print(url.defaults) !== "") bad.push("the defaults are not left out");
		return bad;
	})()`)
	for _, s := range bad {
		t.Errorf("another state after its address: %s", s)
	}
}

// TestTimes reads times of the address as package timetext does, and prints those of the side before.
func TestTimes(t *testing.T) {
	b := modules(t, "url")
	now, newest := last.Add(90*time.Minute), last
	eval[any](b, fmt.Sprintf("globalThis.bases = { now: %d, newest: %d }; null", now.UnixMilli(), newest.UnixMilli()))
	for _, text := range []string{
		"now", "latest", "now-1h", "latest-1h", "-1h", "1h", "-0", "-1d12h", "2w", "latest-90m", "-1.5h", "-250ms", "-2000000us", "-2000000µs", "-1000000000ns",
		"1790000000", "1790000000.25", "1790000000500", "1790000000500000", "1790000000500000000",
		"2026-11-20T09:00:00Z", "2026-11-20T09:00:00.5+02:00", "2026-11-20", "2026-11-20 09:00", "2026-11-20T09:00:01", "2026-11-20T09:00:00.830938304Z", "2026-11-20 09:00:00.0005",
	} {
		at, ok := timetext.Parse(text, time.UTC)
		if !ok {
			t.Fatalf("%q is no time", text)
		}
		base := now
		if at.Base == timetext.Latest {
			base = newest
		}
		if got, want := eval[float64](b, "url.resolve("+quoted(text)+", bases)"), float64(at.At(base.UnixNano()))/1e6; math.Abs(got-want) > 1e-3 {
			t.Errorf("%q: %f, want %f", text, got, want)
		}
	}
	for code, want := range map[string]string{
		`url.shifted("latest-30m", 3600000)`: "latest-90m", `url.shifted("-30m", 3600000)`: "-90m", `url.shifted("latest", 3600000)`: "latest-1h",
		`url.shifted("2026-11-20T09:00:00Z", 3600000)`: "2026-11-20T08:00:00Z", `url.shifted("yesterday", 1)`: "",
		`url.stamp(1763629200000)`: "2025-11-20T09:00:00Z", `url.stamp(1763629200250)`: "2025-11-20T09:00:00.250Z", `url.stamp(1763629200000.5)`: "2025-11-20T09:00:00.000500Z",
		`url.stamp(url.resolve("2026-11-20T09:00:00.830938304Z", bases))`: "2026-11-20T09:00:00.830938Z", `url.stamp(1763629199999.9999)`: "2025-11-20T09:00:00Z",
		`url.end({ ...url.defaults })`: "latest", `url.end({ ...url.defaults, from: "-1h" })`: "now", `url.end({ ...url.defaults, to: "-5m" })`: "-5m",
	} {
		if got := eval[string](b, code); got != want {
			t.Errorf("%s is %q, want %q", code, got, want)
		}
	}
}

// record is a canvas context that writes down what is drawn.
const record = `const recorder = () => { const log = []; return { log, fillRect(x, y, w, h) { log.push([this.fillStyle, x, y, w, h]); }, strokeRect() {}, fillText(text, x, y) { log.push([text, x, y]); } }; };
const look = { ink: "ink", faint: "faint", rest: "rest", run: "run", hit: "hit", dim: "dim", line: "line", background: "back", strong: "strong", font: "f", charWidth: 7,
	fills: [..."ABCDEFGH"], changes: [..."0123456"], group: null, hits: null };
const random = (n, sides, seed) => {
	const next = (k) => (seed = (seed * 48271) % 2147483647) % k;
	const c = { names: ["", "other"], files: [], lines: [], binaries: [], texts: [""], depth: [0], function: [0], self: [], others: [], all: n };
	for (let i = 0; i < 50; i++) c.names.push("pkg" + (i % 7) + ".f" + i);
	c.names.forEach(() => { c.files.push(0); c.binaries.push(0); });
	c.lines = c.names.map(() => 1);
	for (let i = 1, d = 0; i < n; i++) { d = Math.max(1, Math.min(d + 1, 1 + next(d + 2))); c.depth.push(d); c.function.push(2 + next(50)); }
	for (let s = 0; s < sides; s++) c.self.push(c.depth.map(() => (next(3) ? next(1000) : 0)));
	return c;
};`

// TestRectangles holds what is drawn of some trees to golden lists, and to what is always so.
func TestRectangles(t *testing.T) {
	b := modules(t, "tree", "flame")
	eval[any](b, record+"globalThis.recorder = recorder; globalThis.look = look; globalThis.random = random; null")
	var drawn []any
	for i, c := range []struct {
		nodes, sides int
		side         string
		up           bool
	}{{1, 1, "", false}, {40, 1, "", false}, {40, 1, "", true}, {60, 2, "", false}, {60, 2, "before", false}, {3000, 1, "", false}} {
		drawn = append(drawn, eval[any](b, fmt.Sprintf(`(() => {
			const t = new tree.Tree(random(%d, %d, %d)); t.lay(%q, false);
			const ctx = recorder(); flame.draw(ctx, t, { width: 400, height: 200, top: 0, zoomed: 0, isUp: %t }, { ...look, group: t.group("") });
			return ctx.log;
		})()`, c.nodes, c.sides, i+1, c.side, c.up)))
	}
	golden(t, "rectangles.json", drawn)
	for _, wrong := range eval[[]string](b, `(() => {
		const bad = [];
		for (let seed = 1; seed <= 50; seed++) {
			const t = new tree.Tree(random(500, 1 + (seed % 2), seed)); t.lay("", seed % 3 === 0);
			const sum = (l) => l.w.reduce((a, b) => a + b, 0);
			t.levels.forEach((l, d) => { if (d && sum(l) > sum(t.levels[d - 1])) bad.push("level " + d + " is wider than the one above"); });
			for (let i = 0; i < t.size; i++) for (let s = 0; s < t.sides; s++)
				if (t.total[s][i] !== t.self(i, s) + [...t.children(i)].reduce((n, k) => n + t.total[s][k], 0)) bad.push("the total of a node is another");
			const view = { width: 997, height: 5000, top: 0, zoomed: 0, isUp: false };
			for (const l of t.levels) l.id.forEach((id, i) => {
				const [x, y, w] = flame.box(t, view, id);
				if (w > 1 && flame.at(t, view, x + w / 2, y + 5) !== id) bad.push("another frame is at the place of " + id);
			});
		}
		return bad.slice(0, 5);
	})()`) {
		t.Error(wrong)
	}
}

// heap returns the tree of a real heap profile of a compiler, as JSON.
func heap(t *testing.T) string {
	t.Helper()
	s := newServer(t)
	push(t, s, read(t, "compile", "heap"), url.Values{"service_name": {"compile"}, "__delta__": {"false"}}) // the first of a source counts 0
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/v1/flame?t=alloc_space&max_nodes=65536", nil))
	var answer struct {
		Tree json.RawMessage `json:"tree"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); w.Code != 200 || err != nil {
		t.Fatal(w.Code, err)
	}
	return string(answer.Tree)
}

// TestDrawTime bounds the drawing of 100,000 nodes: the tree of a heap profile, and copies of it with other values. What
// is drawn is read back, so that the time has its raster. Others use the machine: the time of each frame is its best of
// some rounds.
func TestDrawTime(t *testing.T) {
	b := modules(t, "tree", "flame")
	eval[any](b, record+"globalThis.look = look; globalThis.one = "+heap(t)+"; null")
	n := eval[int](b, `(() => {
		const c = { ...one, depth: [0], function: [0], self: [[0]], others: [] };
		for (let copy = 1; c.depth.length < 100000; copy++) for (let i = 1; i < one.depth.length && c.depth.length < 100000; i++) {
			c.depth.push(one.depth[i]); c.function.push(one.function[i]); c.self[0].push(Math.round(one.self[0][i] / copy));
		}
		globalThis.big = new tree.Tree(c); big.lay("", false);
		return big.size;
	})()`)
	eval[any](b, "globalThis.least = []; null")
	var median float64
	p95 := b.best(10, func() float64 {
		got := eval[[2]float64](b, `(() => {
			const canvas = document.createElement("canvas"); canvas.width = 1000; canvas.height = 560;
			const ctx = canvas.getContext("2d", { willReadFrequently: true });
			const l = { ...look, fills: ["#f5cfa6", "#c8d4f7"], rest: "#ddd", run: "#eee", ink: "#000", background: "#fff", font: "11px monospace", group: big.group("") };
			const wide = [...big.w.keys()].sort((a, b) => big.w[b] - big.w[a]).slice(0, 120);
			wide.forEach((zoomed, i) => {
				const start = performance.now();
				flame.draw(ctx, big, { width: 1000, height: 560, top: 0, zoomed, isUp: false }, l);
				ctx.getImageData(0, 0, 1, 1);
				least[i] = Math.min(least[i] ?? Infinity, performance.now() - start);
			});
			const times = least.toSorted((a, b) => a - b);
			return [times[60], times[114]];
		})()`)
		median = got[0]
		return got[1]
	})
	t.Logf("%d nodes, 120 frames: median %.2f ms, p95 %.2f ms", n, median, p95)
	if n < 100_000 || median > 5 || p95 > 10 {
		t.Errorf("%d nodes: a frame takes %.2f ms, p95 %.2f ms; at most 5 and 10 of 100,000", n, median, p95)
	}
}
