package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/granarydb/granary/internal/timetext"
)

// TestTimeGrammar: a field takes what package timetext takes, and refuses what it refuses.
func TestTimeGrammar(t *testing.T) {
	texts := strings.Split("now latest now-1h -1h 1h 3h latest-1h latest-1h30m -1d12h -0 0 0s 1.5s 2w 5us 5µs 5μs 7ns 250ms 1769860800 1769860800.5 1769860800000 1769860800000000 1769860800000000000 "+
		"9223372036854775807 9223372036854775808 9999999999 9999999999999 9999999999999999 176986080 +176986080 1769860800. 1769860800000.5 17698608.5 "+
		"2026-01-31 2026-02-29 2028-02-29 2026-13-01 2026-01-00 2026-01-31T12:00:00Z 2026-01-31T14:00:00+02:00 2026-01-31T14:00:00 2026-01-31T14:00 2026-01-31T24:00 2026-01-31T12:60 2026-01-31T12:00Z 2026-01-31T12:00:00.5Z "+
		"2026-01-31T12:00:00.123456789 2026-01-31T 1677-01-01 2263-01-01 - now- now+1h nowhere latest1h --1h now--1h yesterday 1 3x 1h1 1.h .5h 1M 106752d 15251w 1w1d1h1m1s1ms1us1ns", " ")
	texts = append(texts, "2026-01-31 12:00:00Z", "2026-01-31 14:00", "2026-01-31 14:00:00", "2026-1-31", "1 h", " now", "2026-01-31 12:00:00 Z")
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range eval[[]bool](modules(t, "timetext"), fmt.Sprintf("%s.map((s) => timetext.isTime(s))", input)) {
		if _, want := timetext.Parse(texts[i], time.Local); got != want {
			t.Errorf("%q is a time: %v, want %v", texts[i], got, want)
		}
	}
}

// TestTimeField: what is no time is said at the field, before anything is asked, with what to write instead.
func TestTimeField(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	before := query(b)
	enter := func(label, text string) {
		eval[any](b, fmt.Sprintf(`{ const f = document.querySelector("input[aria-label='%s']"); f.focus(); f.value = %q; f.dispatchEvent(new Event("input", { bubbles: true })); f.dispatchEvent(new Event("change", { bubbles: true })); } null`, label, text))
	}
	for text, says := range map[string]string{"3x": "This is no time. Write 3h, -1h, now-1h or latest-1h", "latest-0s": "There is no time between from and to."} {
		enter("from", text)
		b.until(fmt.Sprintf("document.querySelector('.field-error')?.textContent.startsWith(%q) && document.querySelector('[aria-label=from]').getAttribute('aria-invalid') === 'true'", says))
		if got := query(b); got != before {
			t.Errorf("%s is asked for: %s", text, got)
		}
	}
	b.shot("field-error")
	enter("from", "latest-3h")
	b.until("location.search.includes('from=latest-3h') && !document.querySelector('.field-error')")
	enter("to", "2026-11-23 99:00")
	b.until("document.querySelector('.field-error')")
}

// TestTimeChoice chooses times by presets and by the calendar, with keys alone.
func TestTimeChoice(t *testing.T) {
	b := open(t, fleet(t), "/?utc=1")
	b.ready()
	b.click("[aria-label='choose times']")
	b.until("document.activeElement?.textContent === '5m' && document.querySelector('.choices')")
	b.shot("choose-times")
	b.keys(kb.Escape)
	b.until("!document.querySelector('.choices') && document.activeElement?.getAttribute('aria-label') === 'choose times'")
	b.keys(kb.Enter)
	b.until("document.activeElement?.textContent === '5m'")
	b.keys(kb.Tab, kb.Tab, kb.Tab, kb.Enter) // the last 3 hours
	b.until("location.search.includes('from=latest-3h') && !document.querySelector('.choices')")
	b.click("[aria-label='choose times']")
	b.press("now")
	b.press("6h")
	b.until("location.search.includes('from=-6h')")
	b.click("[aria-label='choose times']")
	b.press("yesterday")
	day := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	b.until(fmt.Sprintf("location.search.includes('from=%sT00%%3A00%%3A00Z')", day))
	b.click("[aria-label='choose times']")
	set := func(n int, at string) {
		eval[any](b, fmt.Sprintf(`{ const f = document.querySelectorAll(".calendar input")[%d]; f.value = %q; f.dispatchEvent(new Event("input", { bubbles: true })); } null`, n, at))
	}
	set(0, "2026-11-23T10:00:00")
	set(1, "2026-11-23T09:00:00")
	b.press("choose (UTC)")
	b.until("document.querySelector('.calendar .wrong')?.textContent === 'There is no time between them.'")
	set(0, "2026-11-23T08:30:00")
	b.press("choose (UTC)")
	b.until("location.search.includes('from=2026-11-23T08%3A30%3A00Z&to=2026-11-23T09%3A00%3A00Z')")
}
