package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

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

// TestServices_Shots keeps pictures of the view at several widths.
func TestServices_Shots(t *testing.T) {
	for name, path := range map[string]string{"table": "/?v=services", "cards": "/?v=services&look=cards", "pods": "/?v=services&l=pod&ss=1h"} {
		b := open(t, shop(t), path)
		for _, scheme := range []string{"light", "dark"} {
			b.colours(scheme)
			for _, width := range []int64{390, 1280, 1920} {
				b.width(width)
				b.settles("document.querySelector('.services .spark path')")
				b.shot(fmt.Sprint("services-", name, "-", scheme, "-", width))
			}
		}
	}
	_ = kb.Enter
}
