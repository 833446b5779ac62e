package browser

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// TestEmptyStore: how to send a first profile.
func TestEmptyStore(t *testing.T) {
	b := open(t, newServer(t), "/")
	b.says("No profile has been pushed yet")
	b.says("curl --data-binary @cpu.pb.gz")
	b.shot("empty")
}

// TestEmptyRange: no profile is chosen, and each button leads out.
func TestEmptyRange(t *testing.T) {
	b := open(t, fleet(t), `/?q={pod="none"}`)
	b.says(`No profile is chosen`)
	b.press("without the selector")
	b.ready()
	b.goTo("/?from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z")
	b.says("The newest profile is of")
	b.press("the newest hour")
	b.ready()
	b.goTo("/?from=2000w&to=now-1999w") // before now
	b.says("No profile is chosen")
	b.goTo("/?focus=nothing_is_named_so")
	b.says("No stack is left")
	b.press("show all frames")
	b.ready()
	b.goTo("/?s=nothing_is_named_so")
	b.says("No function matches the search.")
	b.until("document.querySelector('.search output').textContent === 'no hit'")
}

// TestEmptyValues: there are profiles, and all of them are zero.
func TestEmptyValues(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/flame" {
			return false
		}
		_, _ = w.Write([]byte(`{"commit": 0, "touched": {"granules": 1, "parts": 1, "rows": 1, "chosen": 1}, "sample_type": "cpu", "unit": "nanoseconds", "total": [0], "magnitude": [0], "tree": {
			"names": ["", "", "f"], "files": [0, 0, 0], "lines": [0, 0, 0], "binaries": [0, 0, 0], "texts": [""],
			"depth": [0, 1], "function": [0, 2], "self": [[0, 0]], "omitted": 0}}`))
		return true
	})
	b := open(t, s, "/")
	b.says("all of their values are zero")
}

// refusing is a server that answers some paths in its own way.
type refusing struct {
	http.Handler
	of atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

func (s *refusing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := s.of.Load(); f == nil || !(*f)(w, r) {
		s.Handler.ServeHTTP(w, r)
	}
}

func (s *refusing) set(f func(w http.ResponseWriter, r *http.Request) bool) { s.of.Store(&f) }

// TestRefused shows the server's sentence, and asks again by a button.
func TestRefused(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/flame" {
			return false
		}
		http.Error(w, "limit: a flame graph of 3 GiB, at most 1 GiB", http.StatusUnprocessableEntity)
		return true
	})
	b := open(t, s, "/?by=pod")
	b.says("limit: a flame graph of 3 GiB, at most 1 GiB")
	if !strings.Contains(query(b), "by=pod") {
		t.Errorf("the question is gone: %s", query(b))
	}
	b.shot("refused")
	s.set(func(http.ResponseWriter, *http.Request) bool { return false })
	b.press("try again")
	b.ready()
}

// TestRefusedCommit: a commit that is held no more is asked for once more, without it.
func TestRefusedCommit(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	var gone atomic.Int32
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("commit") || gone.Add(1) > 1 {
			return false
		}
		http.Error(w, "commit 1 is held no more: ask again without commit", http.StatusGone)
		return true
	})
	b := open(t, s, "/")
	b.ready()
	if gone.Load() < 1 {
		t.Error("no panel asked for the commit of another")
	}
}

// TestRefusedToken asks for a token, and sends it.
func TestRefusedToken(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		isKnown := !strings.Contains(r.URL.Path, "v1") || r.Header.Get("Authorization") == "Bearer secret"
		if !isKnown {
			http.Error(w, "token: none of this server's", http.StatusUnauthorized)
		}
		return !isKnown
	})
	b := open(t, s, "/")
	b.says("token: none of this server's")
	eval[any](b, `(() => { const i = document.querySelector("input[type=password]"); i.value = "secret"; i.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	b.ready()
}

// TestRefusedAll: a server that is gone is said, and what it answered stays.
func TestRefusedAll(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	b := open(t, s, "/")
	b.ready()
	s.set(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
	b.press("↻")
	b.says("The server does not answer. The page shows what it answered before")
	b.press("try again")
	s.set(func(http.ResponseWriter, *http.Request) bool { return false })
	b.press("↻")
	b.ready("!document.querySelector('.banner')")
}

// TestLoading keeps the old picture, dimmed, until a slow answer is there.
func TestLoading(t *testing.T) {
	s := &refusing{Handler: fleet(t)}
	b := open(t, s, "/")
	b.ready()
	wait := make(chan struct{})
	s.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1/flame" {
			select {
			case <-wait:
			case <-time.After(time.Minute):
			}
		}
		return false
	})
	b.press("invert")
	b.until("document.querySelector('.panel.old canvas')")
	close(wait)
	b.ready()
}

// hostile are names that are no markup, no code, and no end of a script.
var hostile = []string{
	`<img src=x onerror="window.bad.push('ran')">`, `</script><script>window.bad.push('ran')</script>`, "\u202egnp.exe", "a\x00b", `"'{}=\`, strings.Repeat("long", 16<<10),
}

// TestHostile shows names that look like markup as text, wherever they stand.
func TestHostile(t *testing.T) {
	s := newServer(t)
	for i, name := range hostile {
		p := named(name, int64(100+i))
		labels := url.Values{"service_name": {"shop"}}
		if len(name) < 1000 && !strings.Contains(name, "\x00") {
			labels.Set("pod", name)
		}
		push(t, s, p, labels)
	}
	for _, v := range []string{"/?by=pod", "/?v=sandwich&fn=" + url.QueryEscape(hostile[0]), "/?v=profiles", "/?q=" + url.QueryEscape(hostile[1]), "/?s=" + url.QueryEscape(hostile[0]), "/?t=" + url.QueryEscape(hostile[1])} {
		t.Run(v[:min(len(v), 20)]+"Refused", func(t *testing.T) {
			b := open(t, s, v)
			b.settles("document.querySelector('.panel canvas, .message, table.list tr')")
			if n := eval[int](b, "document.querySelectorAll('img, script:not([src])').length"); n > 0 {
				t.Errorf("a name became %d elements", n)
			}
			if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 1440 {
				t.Errorf("a name makes the page %d pixels wide", wide)
			}
		})
	}
	b := open(t, s, "/?by=pod")
	b.ready()
	b.says("<img src=x onerror=")
	b.says("<U+202E>gnp.exe")
	b.shot("hostile")
}

// named returns a profile with one function.
func named(name string, v int64) *profile.Profile {
	f := &profile.Function{ID: 1, Name: name, Filename: name}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 1}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, TimeNanos: last.UnixNano(), DurationNanos: 1e9,
		Sample:   []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{v}}},
		Location: []*profile.Location{l}, Function: []*profile.Function{f},
	}
}
