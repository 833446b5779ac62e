package browser

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/server"
)

// releases returns a server with an hour of CPU profiles of two versions, of which the second came after half of it: it costs
// more. An hour before there is only one profile a minute for ten minutes.
func releases(t *testing.T) *server.Server {
	t.Helper()
	s, _ := openServer(t, server.Options{})
	p := read(t, "etcd", "cpu-1")
	for i := range 60 {
		q, version := p.Copy(), "1.0"
		if i >= 30 {
			version = "1.1"
		}
		q.TimeNanos = last.Add(time.Duration(i-59) * time.Minute).UnixNano()
		for k, sample := range q.Sample {
			for v := range sample.Value {
				percent := int64(90 + (i*31+k*k*7)%20)
				if has(sample, "raft") && i >= 30 {
					percent *= 2
				}
				sample.Value[v] = sample.Value[v] * 100 * percent / 100
			}
		}
		push(t, s, q, url.Values{"service_name": {"shop"}, "version": {version}})
		if i < 10 {
			q.TimeNanos -= int64(2 * time.Hour)
			push(t, s, q, url.Values{"service_name": {"shop"}, "version": {"0.9"}})
		}
	}
	return s
}

// TestSays: a difference says in a sentence what changed, and shows in grey what did not.
func TestSays(t *testing.T) {
	b := open(t, releases(t), `/?v=difference&q={service_name="shop"}&from=latest-29m`)
	b.press("range before")
	b.until("document.querySelector('.says')?.textContent.startsWith('shop costs ')")
	if says := eval[string](b, "document.querySelector('.says').textContent"); !strings.Contains(says, " more CPU, m") || !strings.HasSuffix(says, " changed within noise.") {
		t.Errorf("it says %q", says)
	}
	b.until("document.querySelector('td.noise') && document.querySelector('td.grew')")
	if bad := eval[[]string](b, `[...document.querySelectorAll("td.noise")].filter((td) => !td.title.endsWith(", within noise")).map((td) => td.title)`); len(bad) > 0 {
		t.Errorf("noise that the title does not tell: %q", bad)
	}
	b.says("Changes within noise are grey.")
	if early := eval[[]string](b, `(() => {
		const all = performance.getEntriesByType("resource"), flame = all.find((e) => e.name.includes("api/v1/flame") && e.name.includes("bfrom")).responseEnd;
		return all.filter((e) => e.name.includes("spread=1") && e.startTime < flame).map((e) => e.name);
	})()`); len(early) > 0 {
		t.Errorf("before the first picture: %q", early)
	}
	b.shot("says")
}

// TestUnequal: sides of unequal length are compared for equally long times, unless the totals are wanted; a side before without
// profiles is said to be one.
func TestUnequal(t *testing.T) {
	b := open(t, releases(t), "/?v=difference&from=latest-29m&bfrom=latest-3h&bto=latest-2h")
	b.until("document.querySelector('.change-key')")
	b.says("profiles at 10 instants before stand for 10 min, at 30 after for 30 min. Values before are × 3.")
	scaled := eval[string](b, "document.querySelector('.total').textContent")
	b.press("totals")
	b.until(fmt.Sprintf("location.search.includes('rate=0') && document.querySelector('.total').textContent !== %q", scaled))
	b.goTo("/?v=difference&from=latest-29m&bfrom=latest-30d&bto=latest-29d")
	b.says("The side before has no profiles from 2026-10-24")
	b.shot("none-before")
	b.press("a day before") // no profiles either
	b.says("The side before has no profiles from 2026-11-22")
}

// TestVersions: the newest version is compared with the one before it.
func TestVersions(t *testing.T) {
	b := open(t, releases(t), `/?v=difference&q={service_name="shop"}&from=latest-1h`)
	b.until("document.querySelector('button.version')?.textContent === 'version 1.1 against 1.0'")
	b.press("version 1.1 against 1.0")
	b.until("/^shop version 1.1 costs .* than version 1.0, /.test(document.querySelector('.says')?.textContent)")
	of, err := url.ParseQuery(strings.TrimPrefix(eval[string](b, "location.search"), "?"))
	if err != nil || of.Get("q") != `{service_name="shop",version="1.1"}` || of.Get("bq") != `{service_name="shop",version="1.0"}` {
		t.Errorf("%v, %v", of, err)
	}
	b.until("[...document.querySelectorAll('.legend tbody tr')].map((r) => r.cells[0].textContent).sort().join() === 'after,before'") // a line for each
	b.press("swap")
	b.until(`document.querySelector('.says')?.textContent.includes(' less CPU than version 1.1, ')`)
}
