//go:build unix

package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// asServer is the environment variable with which the program of the tests is a server.
const asServer = "GRANARY_TEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		os.Exit(cli.Run(ctx, NewServe(nil), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// process is a server in a process of its own.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
}

// startProcess starts a server in a new directory, and waits until it listens. It is killed at the end of the test.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(program, append([]string{"--listen", "127.0.0.1:0", "--db", t.TempDir() + "/db"}, args...)...)} //nolint:gosec // of the tests
	p.cmd.Env = append(os.Environ(), asServer+"=1")
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it can have ended
		_ = p.cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := regexp.MustCompile(`msg=listening url=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			p.url = m[1]
			go func() { // so that the server does not wait for its log to be read
				for lines.Scan() {
				}
			}()
			return p
		}
		t.Log(lines.Text())
	}
	t.Fatal("the server does not listen")
	return nil
}

// end ends the server by SIGTERM, and returns how long that takes.
func (p *process) end() time.Duration {
	p.t.Helper()
	start := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the server ends with %v", err)
	}
	return time.Since(start)
}

// push pushes a profile with labels.
func (p *process) push(labels string, of *pprof.Profile) {
	p.t.Helper()
	var body bytes.Buffer
	if err := of.Write(&body); err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.Post(p.url+"/pprof?"+labels, "application/octet-stream", &body)
	if err != nil {
		p.t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
		p.t.Errorf("push: %s", resp.Status)
	}
}

// cpu returns a profile of one type with the given number of stacks. Each has `depth` functions out of `names`.
func cpu(stacks, depth, names int) *pprof.Profile {
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1, TimeNanos: time.Now().UnixNano()}
	for i := range names {
		f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprintf("example.com/service/package.function%d", i)}
		p.Function, p.Location = append(p.Function, f), append(p.Location, &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f}}})
	}
	for i := range stacks {
		s := &pprof.Sample{Value: []int64{1}}
		for d, at := 0, i; d < depth; d++ {
			s.Location = append(s.Location, p.Location[at%names])
			at = (at/names + at*31 + d) % (1 << 40)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// latencies asks a small question n times, and returns the 99th percentile.
func (p *process) latencies(n int) time.Duration {
	p.t.Helper()
	all := make([]time.Duration, n)
	for i := range all {
		start := time.Now()
		if status, text := get(p.t, http.DefaultClient, p.url+"/api/v1/top?t=cpu&rows=10", ""); status != http.StatusOK {
			p.t.Fatalf("status %d: %.200s", status, text)
		}
		all[i] = time.Since(start)
	}
	slices.Sort(all)
	return all[n*99/100]
}

// TestPatterns asks two questions at once whose patterns would take minutes: others are answered, and the server ends.
func TestPatterns(t *testing.T) {
	effort.Slow(t)
	const most, drain = 2 * time.Second, time.Second
	p := startProcess(t, "--max-query-time", "2s", "--drain", "1s")
	for i := range 20 {
		p.push("job="+strings.Repeat("a", 2000-i), cpu(10, 3, 5))
	}
	selector := func(n int) string { return url.QueryEscape(`{job=~"` + strings.Repeat(".{0,1000}", n) + `b"}`) }
	if status, text := get(t, http.DefaultClient, p.url+"/api/v1/top?q="+selector(300), ""); status != http.StatusBadRequest || !strings.Contains(text, "16384 instructions") {
		t.Errorf("a pattern of 2.7 KB: status %d: %.200s", status, text)
	}
	costly := p.url + "/api/v1/top?t=cpu&q=" + selector(4) // which takes some seconds, on any machine
	alone := p.latencies(300)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan time.Duration, 2)
	for range 2 {
		go func() {
			for ctx.Err() == nil {
				start := time.Now()
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, costly, nil)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					break
				}
				if _ = resp.Body.Close(); resp.StatusCode != http.StatusUnprocessableEntity || time.Since(start) > most+time.Second {
					t.Errorf("%s after %s", resp.Status, time.Since(start))
				}
			}
			ended <- 0
		}()
	}
	time.Sleep(100 * time.Millisecond)
	beside := p.latencies(300)
	t.Logf("p99 %s, beside two patterns %s", alone, beside)
	const busy, noise = 15 * time.Millisecond, 10 * time.Millisecond
	if alone < busy && beside > 2*alone+noise { // on a machine that is busy with other work the clock says nothing
		t.Errorf("p99 %s, beside two patterns %s", alone, beside)
	}
	if took := p.end(); took > drain+5*time.Second {
		t.Errorf("the server ends after %s", took)
	}
	leave()
	<-ended
	<-ended
}

// peak returns the most bytes of memory that the process has had.
func (p *process) peak() int64 {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Skip("the system does not say how much memory a process has")
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		p.t.Fatalf("no VmHWM in %s", status)
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return kib << 10
}

// bombs returns pushes of a few KB that expand: a name of 60 MiB, and a million equal samples.
func bombs(t *testing.T) (all [][]byte) {
	t.Helper()
	long, many := cpu(1, 1, 1), cpu(1, 1, 1)
	long.Function[0].Name = strings.Repeat("a", 60<<20)
	for range 900_000 {
		many.Sample = append(many.Sample, many.Sample[0])
	}
	for _, p := range []*pprof.Profile{long, many} {
		var body bytes.Buffer
		if err := p.Write(&body); err != nil {
			t.Fatal(err)
		}
		all = append(all, body.Bytes())
	}
	return all
}

// TestMemoryTotal leaves 60 large answers unread, or 20 without GRANARY_FULL, asks for 16 profiles of many stacks, and pushes 8 bombs, all at once:
// the process stays within --memory-total and 15 % more, and answers.
func TestMemoryTotal(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("the race detector takes memory of its own")
	}
	const total = 512 << 20
	p := startProcess(t, "--memory-total", "512MiB", "--drain", "1s")
	for i := range 3 {
		p.push(fmt.Sprintf("job=a%d", i), cpu(60_000, 25, 5000+i))
	}
	p.push("job=s", cpu(30_000, 25, 6000)) // of which a profile fits a query's memory
	names := cpu(4000, 1, 4000)
	for _, f := range names.Function {
		f.Name += strings.Repeat("n", 1500)
	}
	p.push("job=b", names)
	pushed, bodies := p.peak(), bombs(t)
	var all sync.WaitGroup
	var answered atomic.Int64 // profiles
	ask := func(req *http.Request, err error) {
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return // cut
		}
		if _, err := io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode == http.StatusOK && req.Method == http.MethodGet {
			answered.Add(1)
		}
		_ = resp.Body.Close()
	}
	for range effort.Part(60, 3) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		fmt.Fprintf(conn, "GET /api/v1/top?t=cpu&rows=100000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	for i := range 16 {
		selector := url.QueryEscape([]string{`{}`, `{job="s"}`}[i%2])
		all.Go(func() {
			ask(http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/pprof?type=cpu&selector="+selector, nil))
		})
	}
	for i := range 8 {
		all.Go(func() {
			ask(http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/pprof?job=c", bytes.NewReader(bodies[i%len(bodies)])))
		})
	}
	all.Wait()
	if status, text := get(t, http.DefaultClient, p.url+"/pyroscope/labels", ""); status != http.StatusOK {
		t.Errorf("status %d: %.200s", status, text)
	}
	peak := p.peak()
	t.Logf("%d MiB after the pushes, %d MiB at most, %d profiles", pushed>>20, peak>>20, answered.Load())
	if answered.Load() == 0 {
		t.Error("no profile is answered")
	}
	if peak > total*115/100 {
		t.Errorf("the server had %d MiB of %d", peak>>20, total>>20)
	}
	if took := p.end(); took > 6*time.Second {
		t.Errorf("the server ends after %s", took)
	}
}
