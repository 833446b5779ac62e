package browser

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/granarydb/granary/server"
)

// annotate adds an annotation.
func annotate(t *testing.T, s *server.Server, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/annotations", strings.NewReader(body)))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
}

// TestMarks: annotations and versions that came are on the chart; their texts are reached by keys, and a click compares what is
// before with what is after.
func TestMarks(t *testing.T) {
	s := releases(t)
	at := func(minutes int) string { return last.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339) }
	annotate(t, s, fmt.Sprintf(`{"text":"<img src=x onerror=alert(1)>\u202e load test","time":%q,"until":%q}`, at(-20), at(-10)))
	annotate(t, s, fmt.Sprintf(`{"text":"of another","time":%q,"labels":{"service_name":"cart"}}`, at(-40)))
	b := open(t, s, `/?utc=1&q={service_name="shop"}&from=latest-58m`)
	b.ready()
	b.until("document.querySelector('.marks > button')?.textContent === '⚑ 2 marks'")
	if early := eval[[]string](b, `(() => {
		const all = performance.getEntriesByType("resource"), flame = all.find((e) => e.name.includes("api/v1/flame")).responseEnd;
		return all.filter((e) => e.name.includes("annotations") && e.startTime < flame).map((e) => e.name);
	})()`); len(early) > 0 {
		t.Errorf("before the first picture: %q", early)
	}
	b.shot("marks")
	b.click(".marks > button")
	b.until("document.activeElement?.textContent.startsWith('2026-11-23 09:31:00: version 1.1')")
	b.shot("marks-menu")
	b.keys(kb.ArrowDown)
	b.until("document.activeElement?.textContent.startsWith('2026-11-23 09:40:00 + 10 min: <img src=x onerror=alert(1)><U+202E> load test')")
	b.keys(kb.Escape)
	b.until("!document.querySelector('.marks .menu') && document.activeElement?.textContent === '⚑ 2 marks'")
	b.keys(kb.Enter)
	b.until("document.activeElement?.getAttribute('role') === 'menuitem'")
	b.keys(kb.Enter)
	b.until("location.search.includes('v=difference') && location.search.includes('bto=2026-11-23T09%3A31%3A00Z') && location.search.includes('from=2026-11-23T09%3A31%3A00Z')")
	b.until("document.querySelector('.says')?.textContent.startsWith('shop costs ')")
	b.goTo(`/?utc=1&q={service_name="shop"}&from=latest-58m`)
	b.until("document.querySelector('.marks > button')?.textContent === '⚑ 2 marks'")
	b.settles("document.querySelector('.plot canvas')")
	x, y := b.point(".u-over", 29.0/58, 0.05)
	run(b, chromedp.MouseClickXY(x+4, y))
	b.until("location.search.includes('v=difference') && location.search.includes('bto=2026-11-23T09%3A31%3A00Z')")
}
