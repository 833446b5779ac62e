package server

import (
	"net/url"
	"strconv"
	"testing"

	"github.com/granarydb/granary/server/internal/page"
)

// TestPage_Ends asks for pages that end where the whole does, and for the same with one row less.
func TestPage_Ends(t *testing.T) {
	m := newMadeStates(t, 5, Options{})
	var all page.RangeAnswer
	m.page("histories/threads/range", &all, "attribute", "Threads/3", "rows", "10000")
	for less := range 2 {
		var some page.RangeAnswer
		n := len(all.Intervals) - less
		m.page("histories/threads/range", &some, "attribute", "Threads/3", "rows", strconv.Itoa(n))
		if n < 2 || len(some.Intervals) != n || some.More != (less > 0) {
			t.Errorf("%d rows of %d: %d, more: %v", n, len(all.Intervals), len(some.Intervals), some.More)
		}
	}
	whole, page := m.top("t", "cpu", "s", "leaf[0-2]"), m.top("t", "cpu", "s", "leaf[0-2]", "offset", "1")
	if n := len(whole.Functions); n != 3 || whole.Matching != n || page.Matching != n || len(page.Functions) != n-1 {
		t.Errorf("%d of %d, and behind the first %d of %d", n, whole.Matching, len(page.Functions), page.Matching)
	}
	_, _, one := m.page("top", nil, "t", "cpu", "rows", "1")
	_, _, two := m.page("top", nil, "t", "cpu", "rows", "2")
	if one.Get("ETag") == two.Get("ETag") {
		t.Error("one and two rows have one tag")
	}
}

// TestPage_Fuzzed: what FuzzPage begins with has answers.
func TestPage_Fuzzed(t *testing.T) {
	m := newMadeStates(t, 5, Options{})
	for _, p := range fuzzedPaths {
		of, err := url.ParseQuery(p.query)
		if err != nil {
			t.Fatal(err)
		}
		if status, text := fetched(t, m.url+fuzzedPath(p.path)+"?"+of.Encode()); status != 200 {
			t.Errorf("%s?%s: %d %s", p.path, p.query, status, text)
		}
	}
}
