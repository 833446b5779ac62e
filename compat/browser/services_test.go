package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/server"
)

// shop returns a server of 60 services with CPU and heaps every five minutes for two hours and a quarter, and of the same
// hours the day before. All tests share it.
func shop(t testing.TB) http.Handler {
	t.Helper()
	shops.Do(func() { shops.handler = newShop(t) })
	if shops.handler == nil {
		t.Fatal("there is no shop")
	}
	return shops.handler
}

var shops struct {
	sync.Once
	handler http.Handler
}

func newShop(t testing.TB) http.Handler {
	t.Helper()
	s, _ := openServer(t, server.Options{})
	names := []string{"checkout", "cart", "search", "payments", "recommendation", "shipping-quote", "currency", "email", "ad", "product-catalog"}
	for i := range 60 {
		service := fmt.Sprint(names[i%10], []string{"", "-worker", "-cache", "-eu-west", "-canary", "-batch-of-a-long-name-that-does-not-end"}[i/10])
		for _, day := range []time.Duration{0, 24 * time.Hour} {
			for step := range 28 {
				if i == 7 && step > 12 && day == 0 || i == 8 && step < 14 && day > 0 {
					continue // one began an hour ago, and one has a gap
				}
				at := last.Add(-day - time.Duration(step)*5*time.Minute)
				size := int64(1+i*i%37) * int64(20+(step*7+i)%5) * int64(1+(i+step/4)%3)
				if i == 3 && step < 12 && day == 0 {
					size *= 3 // it got worse in the last hour
				}
				pushService(t, s, service, fmt.Sprint(service, "-", step%2), at, size)
			}
		}
	}
	return s
}

// pushService pushes a profile of CPU time, and a heap.
func pushService(t testing.TB, s http.Handler, service, pod string, at time.Time, size int64) {
	t.Helper()
	for _, unit := range []string{"nanoseconds", "bytes"} {
		p := named("main.serve", size*5_000_000)
		p.TimeNanos = at.UnixNano()
		p.SampleType[0] = &profile.ValueType{Type: map[string]string{"nanoseconds": "cpu", "bytes": "inuse_space"}[unit], Unit: unit}
		f := &profile.Function{ID: 9, Name: "github.com/shop/" + strings.Split(service, "-")[0] + ".(*Handler).ServeHTTP"}
		l := &profile.Location{ID: 9, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{size * size * 40_000}})
		name := map[string]string{"nanoseconds": "process_cpu", "bytes": "memory"}[unit]
		push(t, s, p, url.Values{"service_name": {service}, "pod": {pod}, "__name__": {name}})
	}
}

const (
	services = "document.querySelector('.services tbody tr .spark path')"
	firstRow = "document.querySelector('.services tbody .go').textContent"
	address  = "new URLSearchParams(location.search)"
)

// TestServices_First opens the address that names nothing: of several services it is their list, of one its flame graph.
func TestServices_First(t *testing.T) {
	b := open(t, shop(t), "/?")
	b.settles(services + " && " + address + ".get('v') === 'services' && document.querySelector('#tab-services').ariaSelected === 'true'")
	b.until("document.querySelectorAll('.services tbody tr').length === 50 && !document.querySelector('.plot, .crumbs')")
	b.says("60")
	b.press("10 more")
	b.settles("document.querySelectorAll('.services tbody tr').length === 60 && !document.querySelector('.services .more')")
	b.until("new Set([...document.querySelectorAll('.services .go')].map((e) => e.textContent)).size === 60")
	b.click("#tab-flame")
	b.ready(address + ".get('v') === 'flame'")
	b.until("document.querySelector('.brand').getAttribute('href') === './'")
	b.goTo("/?")
	b.settles(services)
	b.goTo("/?q={service_name=\"cart\"}")
	b.ready()
	b.press("✕ clear") // to an address that names nothing, and to no other view
	b.ready("location.search === '' && document.querySelector('.crumbs')")

	one := newServer(t)
	push(t, one, named("main.work", 5), url.Values{"service_name": {"shop"}})
	b = open(t, one, "/?")
	b.ready("location.search === ''")
}

// TestServices_Rows sorts, searches and pages on the server, and says what changed since when.
func TestServices_Rows(t *testing.T) {
	b := open(t, shop(t), "/?v=services")
	b.settles(services)
	b.until("document.querySelector('th[aria-sort=descending]').textContent.startsWith('rate') && document.querySelectorAll('thead .sort').length === 5")
	b.press("Δ an hour") // the one that got worse is first
	b.settles(firstRow + " === 'payments' && " + address + ".get('ss') === '1h' && document.querySelector('th[aria-sort]').textContent.startsWith('Δ an hour')")
	b.until("[...document.querySelector('.services tbody tr').cells].some((c) => /^[+]653 % [+]0[.]253 cores$/.test(c.textContent))")
	b.until("/^80.2 % → 92.4 % .*ServeHTTP$/.test(document.querySelector('.services tbody tr td.function').textContent)")
	b.press("Δ a day")
	b.settles(address + ".get('ss') === '1d' && " + firstRow + " === 'ad'")
	b.until("document.querySelector('.services tbody tr').textContent.includes('new')")
	b.press("service_name")
	b.settles(firstRow + " === 'ad' && document.querySelector('th[aria-sort=ascending]')")
	b.press("service_name ▴")
	b.settles(firstRow + " === 'shipping-quote-worker' && " + address + ".get('ss') === '-name'")
	enter := func(selector, text string) {
		eval[any](b, fmt.Sprintf("(() => { const i = document.querySelector(%s); i.value = %s; i.dispatchEvent(new Event(i.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true })); })()", quoted(selector), quoted(text)))
	}
	enter("#search", "^CART|^cart$")
	b.settles("document.querySelectorAll('.services tbody tr').length === 1 && " + firstRow + " === 'cart' && document.querySelector('.search output').textContent === '1 of 60'")
	enter("#search", "no such service")
	b.says("No name matches the search.")
	enter("#search", "")
	b.settles("document.querySelectorAll('.services tbody tr').length === 50")
	enter("header .type", "memory:inuse_space:bytes::")
	b.settles("document.querySelector('thead').textContent.includes('mean') && /iB$/.test(document.querySelector('.services tbody td.n').textContent)")
	enter(".tools select", "pod")
	b.settles("document.querySelector('.search output').textContent === '120' && " + firstRow + " === 'shipping-quote-worker-1'")
	b.press("charts")
	b.settles("document.querySelectorAll('.service-cards .card .spark').length === 50 && document.querySelector('.service-cards .changes').textContent.includes('in a day')")
}

// TestServices_Keys goes in, and compares, by keys alone.
func TestServices_Keys(t *testing.T) {
	b := open(t, shop(t), "/?v=services&ss=name")
	b.settles(services)
	tab := func(until string) {
		t.Helper()
		for range 60 {
			if eval[bool](b, until) {
				return
			}
			b.keys(kb.Tab)
		}
		t.Fatalf("Tab does not reach %s", until)
	}
	tab("document.activeElement.type === 'checkbox' && document.activeElement.ariaLabel === 'compare ad'")
	b.keys(" ")
	b.says("with a second row, or with itself")
	tab("document.activeElement.textContent === 'ad'")
	b.keys(kb.ArrowDown, kb.ArrowDown)
	b.until("document.activeElement.textContent === 'ad-cache'")
	b.keys(kb.ArrowUp)
	b.until("document.activeElement.textContent.startsWith('ad-batch')")
	b.command("/")
	b.until("document.activeElement.id === 'search' && document.activeElement.value === ''")
	b.command("Enter")
	b.keys(kb.ArrowDown)
	b.until("document.activeElement.textContent.startsWith('ad-batch')")
	run(b, chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.keys(" ")
	b.until("document.querySelector('.compare').textContent.includes('→')")
	eval[any](b, "document.querySelector('.compare button').focus()")
	b.keys(kb.Enter)
	b.settles("document.querySelector('.change-key') && " + address + ".get('bq') === '{service_name=\"ad\"}' && " + address + ".get('q').startsWith('{service_name=\"ad-batch')")
	b.goTo("/?v=services&ss=name")
	b.settles(services)
	tab("document.activeElement.textContent === 'ad'")
	b.keys(kb.Enter)
	b.ready(address + ".get('q') === '{service_name=\"ad\"}' && " + address + ".get('v') === 'flame'")
}

// TestServices_Compare compares a service with itself before, and two with a selector around them.
func TestServices_Compare(t *testing.T) {
	b := open(t, shop(t), "/?v=services&l=pod&q={service_name=\"payments\"}&from=2026-11-23T09:00:00Z&to=2026-11-23T10:00:01Z")
	b.settles("document.querySelectorAll('.services tbody tr').length === 2")
	b.click(".services tbody input")
	b.press("a day before")
	b.settles("document.querySelector('.change-key') && " + address + ".get('bfrom') === '2026-11-22T09:00:00Z' && " + address + ".get('bto') === '2026-11-22T10:00:01Z' && !" + address + ".get('bq')")
	b.until("/^{service_name=\"payments\",pod=\"payments-[01]\"}$/.test(" + address + ".get('q'))")
	b.goTo("/?v=flame&by=pod") // the chart leads to all values of its label
	b.ready()
	b.press("all 120 values")
	b.settles("document.querySelector('.search output').textContent === '120' && " + address + ".get('l') === 'pod'")
}

// TestServices_Refused: a front opens with the services of its nodes, though it refuses to tell of its store, histories and profiles.
func TestServices_Refused(t *testing.T) {
	node := httptest.NewServer(shop(t))
	defer node.Close()
	front, err := server.NewFront(server.Nodes{URLs: []string{node.URL}}, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = front.Wait(context.Background()) }()
	b := open(t, front, "/?")
	b.settles(address + ".get('v') === 'services'")
	b.says("cart-eu-west")
	b.says("cart.(*Handler).Serve")
}

// TestServices_Widths chooses two rows at each width: no page is wider than its window, and no cell is cut off by the table.
func TestServices_Widths(t *testing.T) {
	for name, path := range map[string]string{"table": "/?v=services", "cards": "/?v=services&look=cards", "pods": "/?v=services&l=pod&ss=1h&t=memory:inuse_space:bytes::"} {
		b := open(t, shop(t), path)
		for _, scheme := range []string{"light", "dark"} {
			b.colours(scheme)
			for _, width := range []int64{390, 1280, 1920} {
				b.width(width)
				b.settles("document.querySelector('.services .spark path') && [...document.querySelectorAll('.services input')].slice(0, 2).every((e) => e.checked || e.click() === undefined)")
				b.until("document.documentElement.scrollWidth <= innerWidth && document.querySelector('.services').scrollWidth <= document.querySelector('.services').clientWidth + 1")
				b.shot(fmt.Sprint("services-", name, "-", scheme, "-", width))
			}
		}
	}
}
