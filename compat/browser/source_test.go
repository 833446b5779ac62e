package browser

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/server"
)

// sourced returns a server with the profiles of a function whose source it has, of two versions.
func sourced(t *testing.T) *server.Server {
	t.Helper()
	dir := t.TempDir()
	var file strings.Builder
	file.WriteString("package cart\n\n// total adds up.\nfunc total(all []item) (sum int) {\n\tfor _, one := range all {\n\t\tsum += one.price // <b>&amp;</b>\n\t\tsum += tax(one, " + strings.Repeat("rates, ", 30) + ")\n\t}\n\treturn sum\n}\n")
	if err := os.WriteFile(filepath.Join(dir, "cart.go"), []byte(file.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newServerOf(t, server.Options{Sources: []server.SourceDir{{Prefix: "/build/cart", Dir: dir}}})
	for i, weights := range [][]int64{{10, 70, 0, 20}, {10, 120, 30, 20}} {
		total := &profile.Function{ID: 1, Name: "cart.total", Filename: "/build/cart/cart.go", StartLine: 4}
		tax := &profile.Function{ID: 2, Name: "cart.tax", Filename: "/build/cart/tax.go"}
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1, Function: []*profile.Function{total, tax}}
		p.TimeNanos = last.Add(time.Duration(i-1) * time.Minute).UnixNano()
		for k, line := range []int64{5, 6, 9, 7} {
			l := &profile.Location{ID: uint64(k + 1), Address: uint64(k + 1), Line: []profile.Line{{Function: total, Line: line}}}
			p.Location = append(p.Location, l)
			stack := []*profile.Location{l}
			if line == 7 {
				callee := &profile.Location{ID: 9, Address: 9, Line: []profile.Line{{Function: tax, Line: 3}}}
				p.Location, stack = append(p.Location, callee), []*profile.Location{callee, l}
			}
			p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{weights[k] * 1e6}})
		}
		push(t, s, p, url.Values{"service_name": {"cart"}, "version": {fmt.Sprint(i + 1)}})
	}
	return s
}

// TestSource: a function's lines are reached from the table, from a frame and by a key, with the text of mapped files alone.
func TestSource(t *testing.T) {
	b := open(t, sourced(t), "/")
	b.ready()
	b.click("button[aria-label='lines of cart.total']")
	b.settles("document.querySelectorAll('.lines-of tbody tr').length >= 7")
	b.says("sum += one.price // <b>&amp;</b>")
	b.says("/build/cart/cart.go")
	row := func(line int) string {
		return eval[string](b, fmt.Sprintf("[...document.querySelectorAll('.lines-of tbody tr')].find((r) => r.querySelector('th').textContent === '%d').innerText.replace(/\\s+/g, ' ')", line))
	}
	if got := row(6); !strings.Contains(got, "190 ms 67.9 %") {
		t.Errorf("line 6 is %q", got)
	}
	if got := row(7); strings.Count(got, "ms") != 1 || !strings.Contains(got, "40 ms 14.3 %") {
		t.Errorf("line 7, which calls, is %q", got)
	}
	b.axe()
	for _, scheme := range []string{"light", "dark"} {
		b.colours(scheme)
		for _, width := range []int64{390, 1280, 1920} {
			b.width(width)
			b.shot(fmt.Sprintf("source-%s-%d", scheme, width))
		}
	}
	b.width(1280)
	b.colours("light")
	b.goTo("/?v=difference&q={version=\"2\"}&bq={version=\"1\"}")
	b.settles("document.querySelector('.change-key')")
	b.click("button[aria-label='lines of cart.total']")
	b.settles("document.querySelector('.lines-of.changes td.grew')")
	if got := row(6); !strings.Contains(got, "+50 ms") {
		t.Errorf("line 6 is %q", got)
	}
	b.axe()
	b.shot("source-difference")
	b.press("without the side before")
	b.settles("document.querySelector('.lines-of:not(.changes) tbody tr')")
	b.goTo("/?v=source&fn=cart.tax")
	b.says("the file is not among the sources")
	b.goTo("/?v=source")
	b.says("Choose a function")
	b.shot("source-none")
	b.goTo("/?v=source&fn=none")
	b.says("No stack has a function named none.")
	b.goTo("/?v=flame")
	b.ready()
	b.focusGraph()
	b.command("ArrowDown")
	b.keys("l")
	b.settles("location.search.includes('v=source') && location.search.includes('fn=cart.total') && document.querySelector('.lines-of tbody tr')")
	b.press("callers and callees")
	b.settles("document.querySelectorAll('.flame canvas').length === 2")
	b.press("lines")
	b.settles("document.querySelector('.lines-of tbody tr')")
}
