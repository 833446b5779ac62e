package browser

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// size makes the window another one.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	run(b, chromedp.EmulateViewport(width, height))
	b.settles(fmt.Sprintf("innerWidth === %d && innerHeight === %d", width, height))
}

// move moves the pointer.
func (b *tab) move(x, y float64, opts ...chromedp.MouseOption) {
	b.t.Helper()
	run(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y, opts...))
}

// boxed is what the box of a frame says, and where it is.
type boxed struct {
	Name, Total, Line     string
	Self                  string
	Percents              int
	Cut                   []string
	Box, Frame            [4]float64 // left, top, right, bottom
	IsThere, TakesPointer bool
}

const readBox = `(() => {
	const box = document.querySelector(".frame-box"), r = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
	const frame = document.querySelector(".mark.hover");
	if (!box || frame.hidden) return { IsThere: false };
	const cells = [...box.querySelectorAll("td, th, p")];
	return {
		IsThere: true, Name: box.querySelector(".box-name").textContent, Line: document.querySelector("#details").textContent,
		Self: box.querySelector("tbody tr:nth-child(1) td").textContent, Total: box.querySelector("tbody tr:nth-child(2) td").textContent,
		Percents: cells.filter((e) => / %$/.test(e.textContent)).length,
		Cut: cells.concat(box).filter((e) => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1).map((e) => e.textContent),
		Box: r(box), Frame: r(frame), TakesPointer: getComputedStyle(box).pointerEvents !== "none",
	};
})()`

// TestFrameBox points at 285 places of frames at 1280x800: each has its name, own value, total and percents beside the pointer,
// uncut, in the window, and beside the frame.
func TestFrameBox(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.size(1280, 800)
	b.ready()
	x0, y0 := b.point(".flame", 0, 0)
	x1, y1 := b.point(".flame", 1, 1)
	rng := rand.New(rand.NewPCG(45, 1))
	names := map[string]bool{}
	for seen, tries := 0, 0; seen < 285; tries++ {
		if tries > 5000 {
			t.Fatalf("%d of %d places have a frame", seen, tries)
		}
		x, y := x0+1+rng.Float64()*(x1-x0-2), y0+1+rng.Float64()*(y1-y0-2)
		b.move(x, y)
		got := eval[boxed](b, readBox)
		if !got.IsThere {
			continue
		}
		seen++
		names[got.Name] = true
		var why []string
		is := func(ok bool, what string) {
			if !ok {
				why = append(why, what)
			}
		}
		is(strings.HasPrefix(got.Line, got.Name) || strings.HasPrefix(got.Name, "other: "), "another name")
		is(strings.Contains(got.Line, got.Self+" self") && strings.Contains(got.Line, got.Total+" total"), "other values")
		is(got.Percents >= 2, "no percents")
		is(len(got.Cut) == 0, "cut")
		is(got.Box[0] >= 0 && got.Box[1] >= 0 && got.Box[2] <= 1280 && got.Box[3] <= 800, "outside of the window")
		is(got.Box[1] >= got.Frame[3] || got.Box[3] <= got.Frame[1], "over the frame")
		is(!got.TakesPointer, "takes the pointer")
		if len(why) > 0 {
			t.Errorf("at %.0f, %.0f: %v: %+v", x, y, why, got)
		}
		if seen == 140 {
			b.shot("box")
		}
	}
	if len(names) < 50 {
		t.Errorf("only %d frames were pointed at", len(names))
	}
	b.move(640, 60)
	b.until("!document.querySelector('.frame-box')")
}

// rows returns how many rows of frames have room in the graph.
func rows(b *tab) float64 {
	b.t.Helper()
	return eval[float64](b, "document.querySelector('.flame').clientHeight / 18")
}

// TestRoom: at 1280x800 with a history the graph has 28 rows of frames. The parts beside it fold by buttons and keys, and stay so.
func TestRoom(t *testing.T) {
	b := open(t, threads(t, 30, 600), "/")
	b.size(1280, 800)
	b.goTo("/")
	b.ready()
	if n := rows(b); n < 28 {
		t.Errorf("the graph has %.1f rows of frames at 1280x800, want 28", n)
	}
	if lines := eval[float64](b, "document.querySelector('header').getBoundingClientRect().height"); lines > 48 {
		t.Errorf("the header is %.0f pixels high at 1280: it wraps", lines)
	}
	b.shot("room")
	b.press("states") // the tab has the same name: the first button of the two
	b.goTo("/")
	b.ready()
	before := rows(b)
	b.keys("2")
	b.settles("document.querySelector('.state-rows canvas')?.width > 300")
	b.shot("room-states")
	b.keys("1", "3")
	b.until("!document.querySelector('.chart') && !document.querySelector('.functions')")
	b.shot("room-folded")
	b.goTo("/")
	b.settles("document.querySelector('.state-rows canvas')?.width > 300 && !document.querySelector('.chart') && !document.querySelector('.functions')")
	for _, part := range []string{"chart", "states", "table"} {
		b.until("[...document.querySelectorAll('.part')].find((e) => e.textContent === " + quoted(part) + ").click() ?? true")
	}
	b.ready("!document.querySelector('.state-rows')")
	if after := rows(b); after != before {
		t.Errorf("folded and opened again the graph has %.1f rows, not %.1f", after, before)
	}
	b.goTo("/?from=2026-11-23T01:00:00Z&to=2026-11-23T02:00:00Z") // before the history
	b.settles("document.querySelector('.message') && ![...document.querySelectorAll('.part')].some((e) => e.textContent === 'states')")
}

// TestRoomOfService: the states of a history are shown beside the profiles of a service that has them alone.
func TestRoomOfService(t *testing.T) {
	s := threads(t, 12, 300)
	p := named("main.work", 5e9)
	p.TimeNanos, p.Period, p.PeriodType = last.Add(-5*time.Minute).UnixNano(), 1, p.SampleType[0] // of the type of the others
	push(t, s, p, map[string][]string{"service_name": {"other"}})
	b := open(t, s, "/")
	b.settles(readyStates)
	b.goTo(`/?q={service_name="other"}`)
	b.ready("!document.querySelector('.states')")
	b.goTo(`/?q={service_name="threads"}`)
	b.settles(readyStates)
}

// TestWidths: the page fits windows from a phone to a large screen, and uses their room.
func TestWidths(t *testing.T) {
	b := open(t, fleet(t), "/?by=pod")
	for _, size := range [][2]int64{{390, 844}, {1280, 800}, {1920, 1080}, {2560, 1440}} {
		b.size(size[0], size[1])
		b.goTo("/?by=pod")
		b.ready()
		name := fmt.Sprintf("at %dx%d", size[0], size[1])
		if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > size[0] {
			t.Errorf("%s the page is %d wide", name, wide)
		}
		graph, plot := eval[float64](b, "document.querySelector('.flame').clientWidth"), eval[float64](b, "document.querySelector('.plot').clientWidth")
		if least := 0.55 * float64(size[0]); graph < least || plot < least {
			t.Errorf("%s the graph has %.0f pixels, the chart %.0f", name, graph, plot)
		}
		b.until("[...document.querySelectorAll('header button, header input, header select')].every((e) => { const r = e.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth + 1 && r.width > 10; })")
		if high := eval[float64](b, "document.querySelector('.flame').clientHeight"); high < 300 {
			t.Errorf("%s the graph is %.0f pixels high", name, high)
		}
		if size[0] < 800 {
			b.until("document.querySelector('.legend').getBoundingClientRect().top >= document.querySelector('.plot').getBoundingClientRect().bottom")
			b.until("document.querySelector('.functions').getBoundingClientRect().top >= document.querySelector('.flame').getBoundingClientRect().bottom")
		}
		for _, scheme := range []string{"light", "dark"} {
			b.colours(scheme)
			b.shot(fmt.Sprintf("width-%d-%s", size[0], scheme))
		}
		b.colours("light")
	}
}
