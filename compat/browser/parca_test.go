package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// TestParca shows Parca's own page on Granary: the flame graph of the profiles that were written, then of one of
// two jobs. GRANARY_PARCA is Parca's binary with its page, which compat/parca/patch.run builds.
func TestParca(t *testing.T) {
	binary := os.Getenv("GRANARY_PARCA")
	if binary == "" {
		t.Skip("GRANARY_PARCA is not set: compat/parca/patch.run builds Parca's binary")
	}
	parca := startParca(t, binary)
	now := time.Now().Add(-time.Minute)
	for i := range 6 {
		pushToParca(t, parca, parcaProfile(t, now.Add(time.Duration(i)*5*time.Second), int64(i%2)), fmt.Sprint("job-", i%2))
	}
	pageOf := func(selector string) string {
		const typ = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
		from, to := now.Add(-10*time.Minute), now.Add(10*time.Minute)
		return "/?" + url.Values{
			"expression_a": {typ + selector}, "selection_a": {typ + selector}, "dashboard_items": {"flamegraph"},
			"from_a": {fmt.Sprint(from.UnixMilli())}, "to_a": {fmt.Sprint(to.UnixMilli())},
			"merge_from_a": {fmt.Sprint(from.UnixNano())}, "merge_to_a": {fmt.Sprint(to.UnixNano())},
			"time_selection_a": {fmt.Sprintf("absolute:%d-%d", from.UnixMilli(), to.UnixMilli())},
		}.Encode()
	}
	b := open(t, httputil.NewSingleHostReverseProxy(parca), pageOf("{}"))
	names := func(want ...string) string {
		list, _ := json.Marshal(want) // texts always are JSON
		return fmt.Sprintf(`(() => { const got = [...document.querySelectorAll("svg text")].map((e) => e.textContent);
			return %s.every((n) => got.some((g) => g.includes(n))); })()`, list)
	}
	b.until(names("main.main", "work-0", "work-1"))
	b.says("Showing 6,000,000,000 values")
	b.shot("parca")
	b.goTo(pageOf(`{job="job-1"}`))
	b.until(names("main.main", "work-1") + " && !(" + names("work-0") + ")")
	b.says("Showing 3,000,000,000 values")
	b.shot("parca-job")
	// The page asks GitHub for its release notes, which fails without a network. Requests to Parca fail the test elsewhere.
	eval[any](b, `quiet().then(() => { bad = bad.filter((b) => b !== "rejection: TypeError: Failed to fetch"); })`)
}

// startParca starts the binary on Granary, in memory, and returns its address.
func startParca(t *testing.T, binary string) *url.URL {
	t.Helper()
	config := filepath.Join(t.TempDir(), "parca.yaml")
	if err := os.WriteFile(config, []byte("object_storage: {bucket: {type: FILESYSTEM, config: {directory: "+t.TempDir()+"}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	var log bytes.Buffer
	cmd := exec.Command(binary, "--config-path="+config, "--http-address="+addr, "--storage-backend=granary", "--log-level=error")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		res, err := http.Get("http://" + addr + "/api/profiles/types")
		if err == nil {
			_ = res.Body.Close()
			return &url.URL{Scheme: "http", Host: addr}
		}
		if time.Now().After(end) {
			t.Fatalf("%v\n%s", err, &log)
		}
	}
}

// parcaProfile returns an encoded profile of one function of its own, which main.main calls.
func parcaProfile(t *testing.T, at time.Time, i int64) []byte {
	t.Helper()
	cpu := &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{cpu}, PeriodType: cpu, Period: 10_000_000, TimeNanos: at.UnixNano(), DurationNanos: int64(5 * time.Second),
		Mapping: []*profile.Mapping{{ID: 1, Start: 1, Limit: 1 << 20, File: "/bin/worker"}},
	}
	for id, name := range []string{fmt.Sprint("main.work-", i), "main.main"} {
		f := &profile.Function{ID: uint64(id + 1), Name: name, Filename: "main.go"}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{
			ID: uint64(id + 1), Address: uint64(64 * (id + 1)), Mapping: p.Mapping[0], Line: []profile.Line{{Function: f, Line: 7}},
		})
	}
	p.Sample = []*profile.Sample{{Location: p.Location, Value: []int64{int64(time.Second)}}}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pushToParca writes a profile by Parca's JSON.
func pushToParca(t *testing.T, parca *url.URL, encoded []byte, job string) {
	t.Helper()
	type label struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	body, err := json.Marshal(map[string]any{"series": []any{map[string]any{
		"labels":  map[string]any{"labels": []label{{"__name__", "process_cpu"}, {"job", job}}},
		"samples": []any{map[string]any{"rawProfile": encoded}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(parca.JoinPath("/api/profiles/writeraw").String(), "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", res.Status, text)
	}
}
