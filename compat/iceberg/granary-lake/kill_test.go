package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"

	pprof "github.com/google/pprof/profile"
)

// asCommand is the environment variable with which the program of the tests is granary-lake.
const asCommand = "GRANARY_TEST_LAKE"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// startNode starts a node in a process of its own, and returns its address. The process is killed at the end of the test.
func startNode(t *testing.T, args ...string) (cmd *exec.Cmd, url string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0", "--every", "50ms", "--seal-after", "0s", "--grace", "0s"}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var notes notebook
	cmd.Stderr = &notes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	return cmd, await(t, notes.String, `msg=listening url=(http://\S+)`)
}

// kill kills a process, and waits for its end.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it can have ended
	_ = cmd.Wait()
}

// pushed are the pushes of TestServe_Kill that were answered: the names of their functions.
type pushed struct {
	number atomic.Int64
	mu     sync.Mutex
	names  []string
}

// push pushes a profile of a name of its own until the server is away. Each third one is of a range that has ended, so that it is
// sealed at once. answered is called after each answer, and ends the pushes if it returns false.
func (p *pushed) push(t *testing.T, url string, answered func() bool) {
	for goOn := true; goOn; {
		n := p.number.Add(1)
		at, name := time.Now(), fmt.Sprint("f", n)
		if n%3 == 0 {
			at = at.Add(-time.Hour)
		}
		resp, err := http.Post(url+"/pprof?job=kill", "application/octet-stream", bytes.NewReader(profileOf(t, name, at)))
		if err != nil {
			return
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("push: %s", resp.Status)
			return
		}
		p.mu.Lock()
		p.names = append(p.names, name)
		p.mu.Unlock()
		goOn = answered()
	}
}

// profileOf returns a profile of one sample.
func profileOf(t *testing.T, name string, at time.Time) []byte {
	f := &pprof.Function{ID: 1, Name: name}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}}}
	of := &pprof.Profile{
		TimeNanos: at.UnixNano(), SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Function: []*pprof.Function{f}, Location: []*pprof.Location{l},
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{1}}},
	}
	var body bytes.Buffer
	if err := of.Write(&body); err != nil {
		t.Error(err)
	}
	return body.Bytes()
}

// A node is killed under pushes, at once after the answer to one of them, again and again, while it seals. Each push that was
// answered is in the table or in the node, once.
func TestServe_Kill(t *testing.T) {
	testKills(t, func(int, string) {})
}

// With --ack lake the directory is lost after two of three kills, and the next process makes it again. Each push that was answered is
// in the table or in the node, once.
func TestServe_KillAndLoss(t *testing.T) {
	testKills(t, func(i int, db string) {
		if i%3 < 2 {
			if err := os.RemoveAll(db); err != nil {
				t.Fatal(err)
			}
		}
	}, "--ack", "lake", "--ack-every", "10ms")
}

// A second process takes a node over from one that goes on: that one answers no push any more and is not ready, its directory is
// refused, and each push that was answered is there once.
func TestServe_TakenOver(t *testing.T) {
	dir := t.TempDir()
	catalog := catalogIn(dir)
	command(t, 0, append([]string{"init"}, catalog...)...)
	args := func(db string) []string {
		return append([]string{"--node", "n", "--ack", "lake", "--ack-every", "0s", "--db", filepath.Join(dir, db)}, catalog...)
	}
	defer http.DefaultClient.CloseIdleConnections()
	first, url := startNode(t, args("first")...)
	var of pushed
	answers := 0
	of.push(t, url, func() bool { answers++; return answers < 30 })
	_, second := startNode(t, args("second")...)
	resp, err := http.Post(url+"/pprof?job=kill", "application/octet-stream", bytes.NewReader(profileOf(t, "late", time.Now())))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a push to the first process: %s", resp.Status)
	}
	for _, path := range []string{"/readyz", "/healthz"} {
		if code, text := fetch(t, http.MethodGet, url+path, nil); code != http.StatusServiceUnavailable || !strings.Contains(text, "another process has taken over") {
			t.Errorf("%s of the first process: %d %s", path, code, text)
		}
	}
	kill(first)
	_, notes := command(t, exitFailed, append([]string{"serve", "--listen", "127.0.0.1:0"}, args("first")...)...)
	if !strings.Contains(notes, "newer directory") {
		t.Errorf("its directory: %s", notes)
	}
	of.push(t, second, func() bool { answers++; return answers < 60 })
	both := filepath.Join(dir, "both")
	command(t, 0, append([]string{"load", "--db", both, "--from", "now-1d"}, catalog...)...)
	rows := rowsByFunction(t, both)
	for _, name := range of.names {
		if rows[name] != 1 {
			t.Errorf("function %s: %d times", name, rows[name])
		}
	}
	if len(of.names) != 60 || len(rows) != 60 {
		t.Errorf("%d pushes, %d functions", len(of.names), len(rows))
	}
}

// testKills kills a node again and again, and calls between with the number of the kill and the directory before each start.
func testKills(t *testing.T, between func(i int, db string), more ...string) {
	t.Helper()
	const kills, pushers = 8, 3
	dir := t.TempDir()
	catalog := catalogIn(dir)
	command(t, 0, append([]string{"init"}, catalog...)...)
	db := filepath.Join(dir, "db")
	args := append(append([]string{"--node", "n", "--db", db}, catalog...), more...)
	var of pushed
	defer http.DefaultClient.CloseIdleConnections()
	for i := range kills {
		cmd, url := startNode(t, args...)
		var answers atomic.Int64
		var pushing sync.WaitGroup
		for range pushers {
			pushing.Go(func() {
				of.push(t, url, func() bool {
					if answers.Add(1) == int64(20+7*i) {
						_ = cmd.Process.Kill()
					}
					return true
				})
			})
		}
		pushing.Wait()
		kill(cmd)
		between(i, db)
	}
	startNode(t, args...)
	both := filepath.Join(dir, "both")
	command(t, 0, append([]string{"load", "--db", both, "--from", "now-1d"}, catalog...)...)
	rows := rowsByFunction(t, both)
	lost := 0
	for _, name := range of.names {
		if rows[name] == 0 {
			lost++
		}
	}
	for name, n := range rows {
		if n > 1 {
			t.Errorf("function %s: %d times", name, n)
		}
	}
	if len(of.names) < kills*20 {
		t.Errorf("%d pushes were answered", len(of.names))
	}
	t.Logf("%d kills, %d pushes, %d answered, %d rows", kills, of.number.Load(), len(of.names), len(rows))
	if lost > 0 {
		t.Errorf("%d of %d pushes that were answered are lost", lost, len(of.names))
	}
}

// rowsByFunction returns the sums of the values of a directory's profiles by function.
func rowsByFunction(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{}.As(store))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	merged, err := db.Profile(context.Background(), snap, profile.Query{})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, s := range merged.Sample {
		sums[s.Location[0].Line[0].Function.Name] += s.Value[0]
	}
	return sums
}
