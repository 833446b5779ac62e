package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// firefox is a browser that is driven by WebDriver BiDi, as the standard has it.
type firefox struct {
	ctx  context.Context
	conn *websocket.Conn
	id   int
	bad  []string // what the browser logs as an error
}

// newFirefox starts Firefox with a profile of its own, and opens a tab, whose name it returns.
func newFirefox(t *testing.T, ctx context.Context) (f *firefox, tab string) {
	t.Helper()
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		if path, err = exec.LookPath("firefox"); err != nil {
			if os.Getenv("GRANARY_NEED_FIREFOX") != "" {
				t.Fatal("firefox is not there")
			}
			t.Skip("firefox is not there")
		}
	}
	cmd := exec.Command(path, "--headless", "--no-remote", "--profile", t.TempDir(), "--remote-debugging-port=0", "about:blank")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := ""
	lines := bufio.NewScanner(said)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "WebDriver BiDi listening on ")
	}
	go func() { // until the process ends
		for lines.Scan() {
		}
	}()
	conn, _, err := websocket.Dial(ctx, address+"/session", nil)
	if err != nil {
		t.Fatalf("%q: %v", address, err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(16 << 20)
	f = &firefox{ctx: ctx, conn: conn}
	f.must(t, "session.new", map[string]any{"capabilities": map[string]any{}}, nil)
	f.must(t, "session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil)
	var made struct{ Context string }
	f.must(t, "browsingContext.create", map[string]any{"type": "tab"}, &made)
	f.must(t, "browsingContext.setViewport", map[string]any{"context": made.Context, "viewport": map[string]int{"width": 1440, "height": 900}}, nil)
	return f, made.Context
}

// do sends a command, and decodes its result. Events that come before it are kept.
func (f *firefox) do(method string, params, result any) error {
	f.id++
	text, err := json.Marshal(map[string]any{"id": f.id, "method": method, "params": params})
	if err != nil {
		return err
	}
	if err := f.conn.Write(f.ctx, websocket.MessageText, text); err != nil {
		return err
	}
	for {
		_, data, err := f.conn.Read(f.ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		var m struct {
			ID            int
			Type, Message string
			Error         string
			Result        json.RawMessage
			Params        struct{ Level, Text string }
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		switch {
		case m.Type == "event" && m.Params.Level == "error":
			f.bad = append(f.bad, m.Params.Text)
		case m.Type == "error":
			return fmt.Errorf("%s: %s: %s", method, m.Error, m.Message)
		case m.ID == f.id && result != nil:
			return json.Unmarshal(m.Result, result)
		case m.ID == f.id:
			return nil
		}
	}
}

func (f *firefox) must(t *testing.T, method string, params, result any) {
	t.Helper()
	if err := f.do(method, params, result); err != nil {
		t.Fatal(err)
	}
}

// eval returns the value of an expression as a string.
func (f *firefox) eval(tab, expression string) (string, error) {
	var out struct {
		Type             string
		Result           struct{ Value string }
		ExceptionDetails struct{ Text string }
	}
	err := f.do("script.evaluate", map[string]any{"expression": "(async () => String(" + expression + "))()", "target": map[string]string{"context": tab}, "awaitPromise": true}, &out)
	if err == nil && out.Type != "success" {
		err = errors.New(out.ExceptionDetails.Text)
	}
	return out.Result.Value, err
}

// TestFirefox opens each view in Firefox: it is drawn, and nothing goes wrong in the page.
func TestFirefox(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	f, tab := newFirefox(t, ctx)
	f.must(t, "script.addPreloadScript", map[string]any{"functionDeclaration": "() => { " + watch + " }"}, nil)
	all := httptest.NewServer(everyServer(t))
	defer all.Close()
	for _, view := range views {
		if view.press != "" { // as another one, until it is pressed
			continue
		}
		t.Run(view.name, func(t *testing.T) {
			f.must(t, "browsingContext.navigate", map[string]any{"context": tab, "url": all.URL + view.path, "wait": "complete"}, nil)
			for end := time.Now().Add(time.Minute); ; {
				is, err := f.eval(tab, "await quiet() && Boolean("+view.there+")")
				if err != nil {
					t.Fatal(err)
				}
				if is == "true" {
					break
				}
				if time.Now().After(end) {
					text, _ := f.eval(tab, "document.body.innerText.slice(0, 400)")
					t.Fatalf("never: %s; the page says: %s", view.there, text)
				}
			}
			if bad, err := f.eval(tab, "bad.join('\\n')"); err != nil || bad != "" {
				t.Errorf("the page: %v %s", err, bad)
			}
			if len(f.bad) > 0 {
				t.Errorf("Firefox logs: %q", f.bad)
				f.bad = nil
			}
		})
	}
}
