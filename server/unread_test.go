package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
)

// unread asks n times and reads nothing. The connections are closed at the end of the test.
func (r *receiver) unread(n int, path string) (conns []net.Conn) {
	r.t.Helper()
	for range n {
		conn, err := (&net.Dialer{Timeout: effort.Patience}).DialContext(r.t.Context(), "tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = conn.Close() })
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path); err != nil {
			r.t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	return conns
}

// named returns a gzipped profile with the given number of functions, each with a name of the given number of bytes.
func named(t testing.TB, functions, bytes int) []byte {
	t.Helper()
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1, TimeNanos: time.Now().UnixNano()}
	for i := range functions {
		f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprintf("%0*d", bytes, i)}
		l := &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l}, Value: []int64{1}})
	}
	return encoded(t, p)
}

// TestUnread_Many leaves many large answers unread, of each kind. Their memory stays within the limits, others are
// answered, and the clients are cut.
func TestUnread_Many(t *testing.T) {
	effort.Slow(t)
	const functions, nameBytes, places = 4000, 1500, 4
	const answer = functions * nameBytes // and more
	limits := Limits{Queries: places, AnswerBytes: 2 * answer, QueryBytes: 16 * answer}
	r := newReceiver(t, Options{Limits: limits}, columnstore.Options{})
	r.s.grace = 300 * time.Millisecond
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", named(t, functions, nameBytes)))
	const small = "/pyroscope/labels"
	paths := []string{"/api/v1/top?t=cpu&rows=100000", "/api/v1/flame?t=cpu&max_nodes=100000", "/pprof?type=cpu", "/arrow?type=cpu&form=plain"}
	if effort.Race { // their sizes are not measured
		paths = []string{paths[0], paths[3]}
	}
	for _, path := range paths {
		r.want(http.StatusOK, "job", r.request(http.MethodGet, small, nil))
		before, start := liveHeap(), time.Now()
		conns := r.unread(16, path)
		peak := int64(0)
		for range 5 {
			time.Sleep(100 * time.Millisecond)
			peak = max(peak, liveHeap()-before)
		}
		asked := time.Now()
		r.want(http.StatusOK, "job", r.request(http.MethodGet, small, nil))
		if took := time.Since(asked); took > 30*time.Second {
			t.Errorf("%s: another is answered after %s", path, took)
		}
		query := int64(3 * answer)
		switch path {
		case "/pprof?type=cpu": // has the names in several tables
			query = limits.QueryBytes
		case "/arrow?type=cpu&form=plain": // has the names, a column of them, the half that it outgrew, and it compressed: 28 MiB are allocated
			query = 5 * answer
		}
		if most := limits.AnswerBytes + answer + places*query + 16<<20; peak > most && !effort.Race { // which keeps more
			t.Errorf("%s: the heap grew by %d MiB, at most %d", path, peak>>20, most>>20)
		}
		cut := 0
		for _, conn := range conns {
			_ = conn.SetReadDeadline(time.Now().Add(effort.Patience))
			n, err := io.Copy(io.Discard, conn)
			if n < answer {
				cut++
			}
			if err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: %d bytes came, %v", path, n, err)
			}
		}
		if isSmall := path == "/pprof?type=cpu"; cut == 0 && !isSmall {
			t.Errorf("%s: no client is cut", path)
		}
		t.Logf("%s: the heap grew by %d MiB, all in %s", path, peak>>20, time.Since(start).Round(time.Millisecond))
	}
	r.wait()
	if n := r.s.answers.InUse(); n != 0 {
		t.Errorf("%v bytes of answers at the end", n)
	}
	r.want(http.StatusOK, `granary_http_failures_total{cause="limit",handler="/api/v1/top"}`, r.request(http.MethodGet, "/metrics", nil))
}

// TestUnread_Slow reads answers at a rate above the least and below: the first comes whole.
func TestUnread_Slow(t *testing.T) {
	effort.Slow(t)
	r := newReceiver(t, Options{Limits: Limits{ReadRate: 1 << 20, Queries: 1}}, columnstore.Options{})
	r.s.grace = 100 * time.Millisecond
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", named(t, 4000, 1500)))
	const whole = 4000 * 1500
	for pause, isWhole := range map[time.Duration]bool{0: true, 300 * time.Millisecond: false} {
		conn := r.unread(1, "/api/v1/top?t=cpu&rows=100000")[0]
		_ = conn.SetReadDeadline(time.Now().Add(effort.Patience))
		for range 10 {
			if _, err := io.CopyN(io.Discard, conn, 64<<10); err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause)
		}
		if n, err := io.Copy(io.Discard, conn); isWhole != (10*64<<10+n > whole) {
			t.Errorf("a pause of %s: %d more bytes came, %v", pause, n, err)
		}
	}
}
