package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var chrome = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("blink-settings", "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4")) // a mouse
	ctx, _ := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, chromedp.Do(ctx)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if _, err := exec.LookPath("chromium"); err == nil {
		if ctx, err := chrome(); err == nil {
			_ = chromedp.Cancel(ctx)
		}
	}
	os.Exit(code)
}

// throttle is how many times slower the page is made, by GRANARY_THROTTLE: tests find the same, whatever the machine.
var throttle, _ = strconv.ParseFloat(os.Getenv("GRANARY_THROTTLE"), 64)

// tab is a tab of the browser. Errors of the page, violations of its policy, and requests that fail, fail the test.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu     sync.Mutex
	failed []string // requests with a status of 400 or more
	asked  []string // all requests
	gone   int      // answers that a commit is held no more: a snapshot is held for 30 s, whoever asked first
}

// watch collects what goes wrong in a page, and counts the questions that have no answer yet. quiet resolves when there is
// none, and has been none for some frames: effects run after a frame, and may ask again.
const watch = `window.bad = []; window.asking = 0; window.asked = 0;
const counted = (own) => function (...args) {
	const end = () => setTimeout(() => asking--), answer = own.apply(this, args);
	asking++; asked++;
	answer.then(end, end);
	return answer;
};
window.fetch = counted(fetch);
for (const f of ["json", "text"]) Response.prototype[f] = counted(Response.prototype[f]);
window.quiet = async () => {
	const end = performance.now() + 20000;
	for (let frames = 0, last = -1; frames < 6; frames++) {
		if (performance.now() > end) return false;
		await new Promise((next) => { const timer = setTimeout(next, 500); requestAnimationFrame(() => { clearTimeout(timer); setTimeout(next); }); });
		if (asking || asked !== last) frames = 0;
		last = asked;
	}
	return true;
};
addEventListener("error", (e) => bad.push("error: " + e.message));
addEventListener("unhandledrejection", (e) => bad.push("rejection: " + e.reason));
addEventListener("securitypolicyviolation", (e) => bad.push("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));`

// open opens a path of a handler in a tab of its own.
func open(t *testing.T, h http.Handler, path string) *tab {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		if os.Getenv("GRANARY_NEED_CHROMIUM") != "" {
			t.Fatal(err)
		}
		t.Skip("chromium is not there")
	}
	parent, err := chrome()
	if err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &status{ResponseWriter: w}
		h.ServeHTTP(rec, r)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked = append(b.asked, r.URL.RequestURI())
		if rec.code == http.StatusGone {
			b.gone++
		}
		// The page aborts what it asks no more, and asks again for a commit that is gone (410), and for older profiles that
		// were not read (409).
		isUnread := rec.code == http.StatusConflict && strings.HasPrefix(r.URL.Path, "/older/")
		if rec.code >= 400 && rec.code != http.StatusGone && !isUnread && rec.code != 499 && r.Context().Err() == nil {
			b.failed = append(b.failed, r.URL.RequestURI())
		}
	}))
	b.url = srv.URL
	ctx, cancel := chromedp.NewContext(parent)
	ctx, stop := context.WithTimeout(ctx, 9*time.Minute)
	b.ctx = ctx
	t.Cleanup(func() { stop(); cancel(); srv.Close() })
	run(b, chromedp.EmulateViewport(1440, 900))
	if throttle > 1 {
		if _, err := chromedp.Call(ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: throttle}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		t.Fatal(err)
	}
	b.goTo(path)
	t.Cleanup(b.check)
	return b
}

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) { s.code = code; s.ResponseWriter.WriteHeader(code) }

// Unwrap is for http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func run[T any](b *tab, a chromedp.Action[T]) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, a)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// eval returns the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression is true. One that throws is not.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !eval[bool](b, "(async () => { try { return Boolean("+expression+"); } catch { return false; } })()"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.shot("failed")
			b.t.Fatalf("never: %s; the page says: %.400s", expression, eval[string](b, "document.body.innerText"))
		}
	}
}

// settles waits until the page asks nothing more, and an expression is true then. Use it after what makes the page ask:
// an expression alone may be true of the picture before.
func (b *tab) settles(expression string) {
	b.t.Helper()
	b.until("await quiet() && (" + expression + ")")
}

// ready waits until a flame graph and its table are of the same question and drawn, and an expression is true then.
func (b *tab) ready(and ...string) {
	b.t.Helper()
	b.settles(strings.Join(append([]string{ready}, and...), " && "))
}

// says waits until the page has a text.
func (b *tab) says(text string) {
	b.t.Helper()
	b.until("document.body.innerText.includes(" + quoted(text) + ")")
}

func quoted(text string) string {
	out, _ := json.Marshal(text) // a string always is JSON
	return string(out)
}

// goTo loads a path of the same server. / is the flame graph here: the address that names nothing, /?, can be that of another view.
func (b *tab) goTo(path string) {
	b.t.Helper()
	if path == "/" {
		path = "/?v=flame"
	}
	run(b, chromedp.Navigate(b.url+path))
}

// click clicks the first element of a selector.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until("document.querySelector(" + quoted(selector) + ").click() ?? true")
}

// press presses the button with a text.
func (b *tab) press(text string) {
	b.t.Helper()
	b.until("[...document.querySelectorAll('button, [role=menuitem]')].find((e) => e.textContent.trim() === " + quoted(text) + ").click() ?? true")
}

// keys presses keys, of which some have names of kb.
func (b *tab) keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		run(b, chromedp.KeyEvent(k))
	}
}

// command presses a key that is no text: the page prevents what a browser would do with it.
func (b *tab) command(key string) {
	b.t.Helper()
	for _, typ := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: typ, Key: key}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// focusGraph gives the focus to the first graph, as Tab does.
func (b *tab) focusGraph() {
	b.t.Helper()
	b.until("document.querySelector('[role=tree]')")
	for range 200 {
		if eval[bool](b, "document.activeElement.getAttribute('role') === 'tree'") {
			return
		}
		b.keys(kb.Tab)
	}
	b.t.Fatal("Tab does not reach the graph")
}

// point returns a place in an element, as parts of its width and height.
func (b *tab) point(selector string, x, y float64) (float64, float64) {
	b.t.Helper()
	r := eval[[4]float64](b, "(() => { const r = document.querySelector("+quoted(selector)+").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
	return r[0] + x*r[2], r[1] + y*r[3]
}

// drag drags over an element from one part of its width to another.
func (b *tab) drag(selector string, from, to float64, opts ...chromedp.MouseOption) {
	b.t.Helper()
	x0, y := b.point(selector, from, 0.5)
	x1, _ := b.point(selector, to, 0.5)
	left := append([]chromedp.MouseOption{chromedp.ButtonLeft}, opts...)
	run(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x0, y, opts...))
	run(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x0, y, append(left, chromedp.ClickCount(1))...))
	run(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (x0+x1)/2, y, left...))
	run(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x1, y, left...))
	run(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x1, y, append(left, chromedp.ClickCount(1))...))
}

// colours makes the system light or dark.
func (b *tab) colours(scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// width makes the window another one, in which all is drawn again.
func (b *tab) width(pixels int64) {
	b.t.Helper()
	run(b, chromedp.EmulateViewport(pixels, 900))
	b.settles("innerWidth === " + fmt.Sprint(pixels))
}

// best returns the least of what rounds measure, as others use the machine: until one is within a bound, or for 40 seconds.
func (b *tab) best(bound float64, round func() float64) float64 {
	b.t.Helper()
	if throttle > 1 {
		b.t.Skip("a page that is made slower is not measured")
	}
	least := math.Inf(1)
	for end := time.Now().Add(40 * time.Second); least > bound && time.Now().Before(end); {
		least = min(least, round())
	}
	return least
}

// shot keeps a picture to look at, in the folder GRANARY_SHOTS.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("GRANARY_SHOTS")
	if dir == "" {
		return
	}
	eval[any](b, "quiet()")
	if err := os.WriteFile(filepath.Join(dir, name+".png"), run(b, chromedp.FullScreenshot(100)), 0o644); err != nil {
		b.t.Error(err)
	}
}

// check fails the test if something went wrong in the page.
func (b *tab) check() {
	if b.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	bad, err := chromedp.Run(ctx, chromedp.Evaluate[[]string]("quiet().then(() => bad)", chromedp.EvalAwaitPromise))
	if err != nil || len(bad) > 0 {
		b.t.Errorf("the page: %v %s", err, strings.Join(bad, "\n"))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failed) > 0 && !strings.Contains(b.t.Name(), "Refused") {
		b.t.Errorf("requests failed: %v", b.failed)
	}
}
