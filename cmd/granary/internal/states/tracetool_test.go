package states

import (
	"bufio"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// TestStats_TraceTool holds statistics of a Go execution trace to the pages of go tool trace: the time that the goroutines of
// each function run, and wait for each reason.
func TestStats_TraceTool(t *testing.T) {
	effort.Slow(t)
	page := traceTool(t, goTrace)
	want := map[string]int64{}
	row := regexp.MustCompile(`(?s)<a href="/goroutine\?name=[^"]*">([^<]*)</a></code></td>\s*<td>\d+</td>\s*<td>([^<]*)</td>`)
	for _, m := range row.FindAllStringSubmatch(page("/goroutines"), -1) {
		function := html.UnescapeString(m[1])
		add(t, want, function+", running", m[2])
		waits(t, want, function, page("/goroutine?name="+url.QueryEscape(function)))
	}
	got := map[string]int64{}
	r := granary(t, "history", "stats", "--by", "function,state", "--json", "-n", "0", goTrace)
	var out struct {
		Rows []struct {
			Key   []string `json:"key"`
			Total int64    `json:"total_ns"`
		} `json:"rows"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.code != cli.ExitOK {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, row := range out.Rows {
		got[strings.Join(row.Key, ", ")] += row.Total
	}
	compared := 0
	for of, ns := range want {
		if ns == 0 {
			continue
		}
		if compared++; got[of] != ns {
			t.Errorf("%s for %d ns, want %d", of, got[of], ns)
		}
	}
	if compared < 12 {
		t.Errorf("%d times were compared: %v", compared, want)
	}
}

// waits adds the times of a function's page in the columns of waits.
func waits(t *testing.T, to map[string]int64, function, page string) {
	t.Helper()
	_, table, _ := strings.Cut(page, `<table class="details">`)
	table, _, _ = strings.Cut(table, "</table>")
	rows := strings.Split(table, "<tr")
	plain := regexp.MustCompile(`<[^>]*>`)
	cells := func(row, cell string) (texts []string) {
		for _, m := range regexp.MustCompile(`(?s)<`+cell+`[ >].*?</`+cell+`>`).FindAllString(row, -1) {
			texts = append(texts, strings.TrimSpace(html.UnescapeString(plain.ReplaceAllString(m, ""))))
		}
		return texts
	}
	var columns []string
	for _, row := range rows {
		if heads := cells(row, "th"); heads != nil {
			columns = heads
		}
		values := cells(row, "td")
		if len(values) == 0 {
			continue
		}
		values = values[len(values)-len(columns)+2:] // behind the goroutine, its total and the bar of it
		for i, name := range columns[2:] {
			reason, isWait := strings.CutPrefix(name, "Block time (")
			if reason = strings.TrimSuffix(reason, ")"); isWait && reason != "preempted" && reason != "syscall" {
				add(t, to, function+", "+strings.TrimSuffix("waiting ("+reason+")", " ()"), values[i])
			}
		}
	}
}

// add adds a duration.
func add(t *testing.T, to map[string]int64, of, text string) {
	t.Helper()
	d, err := time.ParseDuration(strings.TrimSpace(html.UnescapeString(text)))
	if err != nil {
		t.Fatalf("%s: %v", of, err)
	}
	to[of] += int64(d)
}

// traceTool runs go tool trace, and returns a function for its pages.
func traceTool(t *testing.T, file string) func(path string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-n", "trace")
	tool, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), strings.TrimSpace(string(tool)), "-http=127.0.0.1:0", file)
	cmd.Env = append(os.Environ(), "BROWSER=true")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	at := ""
	for lines := bufio.NewScanner(said); at == "" && lines.Scan(); {
		_, at, _ = strings.Cut(lines.Text(), "listening on ")
	}
	return func(path string) string {
		resp, err := http.Get(at + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}
