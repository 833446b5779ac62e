package browser

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/server"
)

// saved writes files of profiles into a folder, and returns their names.
func saved(t *testing.T, files map[string][]byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, data := range files {
		out[name] = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(out[name], data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// profileFile returns the bytes of a real profile, with values that are some percent of its own.
func profileFile(t *testing.T, job, name string, percent int64) []byte {
	t.Helper()
	p := read(t, job, name)
	for _, s := range p.Sample {
		for i := range s.Value {
			s.Value[i] = s.Value[i] * percent / 100
		}
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// choose gives files to the field of the dialog, as a person does.
func (b *tab) choose(names ...string) {
	b.t.Helper()
	b.until("document.querySelector('.files input[type=file]:enabled')")
	object, err := chromedp.Call(b.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.querySelector('.files input[type=file]')"})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: names, ObjectID: object.Result.ObjectID}); err != nil {
		b.t.Fatal(err)
	}
}

// drop drops files on the page, which has their bytes: a page cannot read a path.
func (b *tab) drop(files map[string][]byte) {
	b.t.Helper()
	var script strings.Builder
	script.WriteString("(() => { const all = new DataTransfer();\n")
	for name, data := range files {
		script.WriteString("all.items.add(new File([Uint8Array.from(atob(" + quoted(base64.StdEncoding.EncodeToString(data)) + "), (c) => c.charCodeAt(0))], " + quoted(name) + "));\n")
	}
	script.WriteString(`for (const type of ["dragover", "drop"]) document.querySelector("main").dispatchEvent(new DragEvent(type, { dataTransfer: all, bubbles: true, cancelable: true })); })()`)
	eval[any](b, script.String())
}

// leaves does what makes the page go elsewhere, and waits until it is there. What is asked of a page that navigates fails.
func (b *tab) leaves(prefix string, do func()) {
	b.t.Helper()
	do()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		at, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.readyState === 'complete' ? location.pathname : ''"))
		if err == nil && strings.HasPrefix(at, prefix) {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("the page is at %s: %v", at, err)
		}
	}
}

// TestFiles opens a profile that is dropped, two as a difference that are chosen, and says why a file cannot be opened.
func TestFiles_Refused(t *testing.T) {
	s := newServer(t)
	b := open(t, s, "/")
	b.says("drop it on this page")
	b.shot("files-none")
	b.drop(map[string][]byte{"notes.txt": []byte("hello")})
	b.says("notes.txt")
	b.press("open")
	b.says("notes.txt: not a valid pprof profile: it is text")
	b.shot("files-error")
	cpu := profileFile(t, "etcd", "cpu-1", 100)
	b.drop(map[string][]byte{"cpu.pb.gz": cpu})
	b.until("document.querySelector('.files li').textContent.includes('cpu.pb.gz') && !document.querySelector('.files .refused')")
	b.until("[...document.querySelectorAll('button')].some((e) => e.textContent.trim() === 'open' && !e.disabled)") // a press of a disabled one is lost
	b.leaves("/view/", func() { b.press("open") })
	b.ready()
	b.says("Files: cpu.pb.gz. They are closed half an hour after the last look.")
	b.shot("files-opened")

	names := saved(t, map[string][]byte{"old.pb.gz": cpu, "new.pb.gz": profileFile(t, "etcd", "cpu-1", 150)})
	b.press("open…")
	b.choose(names["new.pb.gz"], names["old.pb.gz"])
	b.until("document.querySelectorAll('.files li').length === 2")
	b.press("swap")
	b.until("document.querySelector('.files li').textContent.startsWith('before old.pb.gz')")
	b.axe()
	for _, scheme := range []string{"light", "dark"} {
		b.colours(scheme)
		for name, width := range map[string]int64{"390": 390, "1280": 1280, "1920": 1920} {
			b.width(width)
			b.shot("files-two-" + scheme + "-" + name)
		}
	}
	b.colours("light")
	b.width(1280)
	before := eval[string](b, "location.pathname")
	b.leaves("/view/", func() {
		b.press("compare them")
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if at, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("location.pathname")); err == nil && at != before {
				return
			}
		}
	})
	b.settles("document.querySelector('.change-key')")
	b.says("Files: old.pb.gz, new.pb.gz.")
	b.until("[...document.querySelectorAll('td.n small')].some((e) => e.textContent.includes('50'))")
	b.shot("files-difference")
	b.click(".note a")
	b.leaves("/", func() {})
}

// TestFiles_Keys opens the dialog, chooses and closes by keys alone.
func TestFiles_Keys(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	b.until("[...document.querySelectorAll('header button')].find((e) => e.textContent === 'open…').focus() ?? true")
	b.keys("\r")
	b.until("document.querySelector('dialog[open].files') && document.activeElement.closest('.files')")
	b.until("document.querySelector('.files input').focus() ?? document.activeElement.type === 'file'")
	b.keys(kb.Escape)
	b.until("!document.querySelector('.files')")
}

// TestCopyField: where there is no clipboard, as over plain HTTP by the name of a host, the text is shown and selected.
func TestCopyField(t *testing.T) {
	b := open(t, fleet(t), "/")
	b.ready()
	eval[any](b, "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }); null")
	b.press("share")
	b.press("copy a link with fixed times")
	b.until("document.querySelector('.copy-field[open] textarea') === document.activeElement")
	b.until("((f) => f.readOnly && f.value.startsWith(location.origin + '/?') && f.value.includes('from=2026-') && f.selectionStart === 0 && f.selectionEnd === f.value.length)(document.activeElement)")
	b.says("to copy the link:")
	b.axe()
	b.shot("copy-field")
	b.width(390)
	b.shot("copy-field-390")
	b.press("close")
	b.until("!document.querySelector('.copy-field')")
}

// TestExports: each file of the share menu is a link, which is there.
func TestExports(t *testing.T) {
	b := open(t, fleet(t), "/")
	for view, want := range map[string]int{"/?v=flame": 8, "/?v=services": 2, "/?v=difference&from=latest-30m&bfrom=latest-90m&bto=latest-60m": 8, "/?v=sandwich&fn=runtime.mallocgc": 6, "/?v=profiles": 2, "/?v=store": 1} {
		b.goTo(view)
		b.settles("document.querySelector('#view canvas, #view table, #view .budget')")
		b.press("share")
		b.until("document.querySelector('.menu a')")
		b.until("![...document.querySelectorAll('.menu [role=menuitem]')].some((e) => e.textContent.includes('command') && e.disabled && !e.textContent.startsWith('no'))")
		got := eval[[]string](b, `Promise.all([...document.querySelectorAll(".menu a")].map(async (a) => {
			const answer = await fetch(a.href), data = await answer.blob();
			return answer.ok && data.size > 0 && a.hasAttribute("download") ? "" : a.textContent + ": " + answer.status + " " + data.size;
		}))`)
		if strings.Join(got, "") != "" || len(got) < want-1 {
			t.Errorf("%s: %d files, want %d: %q", view, len(got), want, got)
		}
		b.loadAxe()
		for _, v := range violations(b, "{}") { // sizes are those of TestViews: the menu covers a part of what is below it
			t.Errorf("%s: %s", view, v)
		}
		if view == "/?v=flame" {
			for _, scheme := range []string{"light", "dark"} {
				b.colours(scheme)
				b.shot("share-" + scheme)
			}
			b.width(390)
			b.shot("share-390")
			b.width(1440)
		}
	}
}

// TestExports_TokenRefused: a link sends no token, so the page asks itself, and has what to save.
func TestExports_TokenRefused(t *testing.T) {
	s := newServer(t)
	p := read(t, "etcd", "cpu-1")
	p.TimeNanos = last.UnixNano()
	push(t, s, p, url.Values{"service_name": {"etcd"}})
	if err := s.SetTokens(server.Tokens{Read: []string{"secret"}}); err != nil {
		t.Fatal(err)
	}
	b := open(t, s, "/?v=flame")
	b.until("document.querySelector('input[type=password]')")
	eval[any](b, "sessionStorage.setItem('token', 'secret'); null")
	b.goTo("/?v=flame")
	b.ready()
	eval[any](b, "HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href]; }; null")
	b.press("share")
	b.until("[...document.querySelectorAll('.menu a')].find((a) => a.textContent === 'save folded stacks').dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true })) === false")
	b.until("saved[0] === 'cpu.folded' && saved[1].startsWith('blob:')")
}

// TestFiles_States opens a trace without samples: it has states, and no profile.
func TestFiles_States(t *testing.T) {
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	ticker(3)
	trace.Stop()
	b := open(t, newServer(t), "/")
	b.says("drop it on this page")
	b.drop(map[string][]byte{"app.trace": out.Bytes()})
	b.until("[...document.querySelectorAll('button')].some((e) => e.textContent.trim() === 'open' && !e.disabled)")
	b.leaves("/view/", func() { b.press("open") })
	b.settles("document.querySelectorAll('.waits tbody tr').length > 1 && document.querySelector('.state-rows') && document.querySelector('.plot canvas')")
	b.until("[...document.querySelectorAll('.tabs button')].map((e) => e.textContent).join() === 'waits,store'")
	b.press("goroutine")
	b.until("document.querySelector('.waits thead').textContent.startsWith('goroutinefunctionstate')")
	b.click("#tab-store")
	b.settles("document.querySelector('.cards')")
	b.shot("files-states")
}

// TestProfile_WithoutNames: a profile can have values without a type and a unit, as a goroutine dump of some programs
// has. The answers of querier.v1 leave out what is empty.
func TestProfile_WithoutNames(t *testing.T) {
	p := read(t, "etcd", "cpu-1")
	p.SampleType, p.PeriodType = []*profile.ValueType{{}}, &profile.ValueType{}
	p.TimeNanos = last.UnixNano()
	for _, s := range p.Sample {
		s.Value = s.Value[:1]
	}
	s, _ := openServer(t, server.Options{})
	push(t, s, p, url.Values{"service_name": {"etcd"}})
	b := open(t, s, "/?v=flame")
	for _, view := range []string{"flame", "top"} {
		b.goTo("/?v=" + view)
		b.settles("document.querySelector('#view canvas, #view table')")
		if got := eval[string](b, "document.querySelector('select.type').selectedOptions[0].textContent"); got != "without a name" {
			t.Errorf("%s: the type is %q", view, got)
		}
	}
}

// TestNodes_Few: a server may allow fewer functions than the page would like.
func TestNodes_Few(t *testing.T) {
	s, _ := openServer(t, server.Options{Limits: server.Limits{Nodes: 1000}})
	p := read(t, "etcd", "cpu-1")
	p.TimeNanos = last.UnixNano()
	push(t, s, p, url.Values{"service_name": {"etcd"}})
	b := open(t, s, "/?v=flame")
	b.settles("document.querySelector('.flame canvas')")
	b.goTo("/?v=flame&inv=1")
	b.settles("document.querySelector('.flame canvas')")
}
