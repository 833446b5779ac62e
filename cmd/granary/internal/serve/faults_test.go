//go:build unix

package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
)

var (
	netRequests = flag.Int("net.requests", 30, "requests while calls of the listener fail")
	netCalls    = flag.Int("net.calls", 6, "of how many calls of each kind one fails after the other; 0 means all of them")
	netKind     = flag.Int("net.kind", 0, "the fault of the first call; the next one has the next")
)

// faultDrain is --drain in these tests.
const faultDrain = 200 * time.Millisecond

// TestServe_EveryCallFails lets calls of the listener and of its connections fail. A push that was acknowledged is there once, also if it
// was repeated, and after a crash; one that was sent once and not acknowledged is there at most once. The server goes on with the next
// connection, unless it gets none any more: then it ends with that error. It ends in time, and leaves no goroutine and no connection.
func TestServe_EveryCallFails(t *testing.T) {
	effort.Alone(t)
	right := startFaulty(t, netFault{name: "none"}, opAccept, 0)
	right.run(*netRequests)
	right.finish()
	calls, _, _ := right.net.outcome()
	runs := 0
	for op, all := range calls {
		if all == 0 {
			t.Errorf("the requests made no call %s", netOp(op))
		}
		for at := 1; at <= all && !t.Failed(); at += max(1, all/max(1, cmp.Or(*netCalls, all))) {
			s := startFaulty(t, netFaults[(*netKind+runs)%len(netFaults)], netOp(op), at)
			s.run(*netRequests)
			s.finish()
			runs++
		}
	}
	t.Logf("%d requests make %v calls; %d runs", *netRequests, calls, runs)
}

// faulty is a server whose listener fails, its clients, and what the store must have.
type faulty struct {
	t     *testing.T
	net   *faultyNet
	fs    *crashfs.FS
	store *columnstore.Store
	url   string
	stop  context.CancelFunc
	ended chan error
	leaks goleak.Option

	http1, http2 *http.Client
	certain      map[string]int64 // by the label op: acknowledged
	possible     map[string]int64 // sent once, and not acknowledged
}

// startFaulty starts a server on a listener with a fault.
func startFaulty(t *testing.T, fault netFault, op netOp, at int) *faulty {
	t.Helper()
	s := &faulty{
		t: t, fs: crashfs.New(crashfs.Options{}), ended: make(chan error, 1), leaks: goleak.IgnoreCurrent(),
		certain: map[string]int64{}, possible: map[string]int64{},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.net = &faultyNet{Listener: l, fault: fault, op: op, at: at, open: map[net.Conn]bool{}}
	s.url = "http://" + l.Addr().String()
	s.store, err = columnstore.Open(columnstore.Options{FS: s.fs, Sync: disk.SyncEach, DiskBudget: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	f := newFlags()
	f.inMemory, f.store, f.drain = true, s.store, faultDrain // no files beside the store
	none, err := f.files.load(f.budgets(), f.limits)
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	go func() { s.ended <- f.serveStore(ctx, slog.New(slog.DiscardHandler), none, s.net, time.Now()) }()
	only2 := new(http.Protocols)
	only2.SetUnencryptedHTTP2(true)
	s.http1 = &http.Client{Transport: &http.Transport{}}
	s.http2 = &http.Client{Transport: &http.Transport{Protocols: only2}}
	return s
}

// isOver reports whether the server has ended.
func (s *faulty) isOver() bool { return len(s.ended) > 0 }

// run sends requests of six kinds, one after the other.
func (s *faulty) run(requests int) {
	for i := range requests {
		op := fmt.Sprint("i", i)
		switch i % 6 {
		case 0:
			s.repeat(op, func() bool { return s.pprof(s.http1, op, true) })
		case 1:
			s.once(op, func() bool { return s.pprof(s.http1, op, false) })
		case 2:
			s.repeat(op, func() bool { return s.grpc(op) })
		case 3:
			s.ask()
		case 4:
			s.repeat(op, func() bool { return s.pprof(s.http2, op, true) })
		case 5:
			s.repeatOnNew(op)
		}
	}
}

// errorf reports a failure with the fault.
func (s *faulty) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s: "+format, append([]any{s.net}, args...)...)
}

// tries is how often a client sends a request. One fault may fail more than one: the connections that it leaves are reset.
const tries = 5

// repeat sends a push with an id until it is acknowledged. A server that takes no more connections ends meanwhile.
func (s *faulty) repeat(op string, send func() bool) {
	s.t.Helper()
	for range tries {
		if send() {
			s.certain[op] = valueOf(op)
			return
		}
	}
	s.possible[op] = valueOf(op)
	if _, isDead, _ := s.net.outcome(); !isDead {
		s.errorf("push %s is not taken", op)
	}
}

// repeatOnNew does so with a connection for each try.
func (s *faulty) repeatOnNew(op string) {
	s.t.Helper()
	s.http1.CloseIdleConnections()
	s.repeat(op, func() bool { return s.pprof(s.http1, op, true) })
}

// once sends a push without an id.
func (s *faulty) once(op string, send func() bool) {
	if send() {
		s.certain[op] = valueOf(op)
	} else {
		s.possible[op] = valueOf(op)
	}
}

// valueOf returns the value of a push.
func valueOf(op string) (value int64) {
	_, _ = fmt.Sscanf(op, "i%d", &value)
	return value + 1
}

// profileOf returns an encoded profile with the value of a push.
func (s *faulty) profileOf(op string) []byte {
	p := cpu(1, 3, 3)
	p.Sample[0].Value[0] = valueOf(op)
	var body bytes.Buffer
	if err := p.Write(&body); err != nil {
		s.t.Fatal(err)
	}
	return body.Bytes()
}

// send sends a request, and returns its answer if all of it came.
func (s *faulty) send(client *http.Client, method, path string, body []byte, headers map[string]string) (resp *http.Response, text []byte) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), effort.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err = client.Do(req)
	if err == nil {
		text, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.errorf("%s %s: no answer in %s", method, path, effort.Patience)
	case err == nil && resp.StatusCode >= http.StatusInternalServerError:
		s.errorf("%s %s: status %d: %s", method, path, resp.StatusCode, text)
	}
	if err != nil {
		return nil, nil
	}
	return resp, text
}

// pprof pushes a profile, with or without an id, and reports whether it was acknowledged.
func (s *faulty) pprof(client *http.Client, op string, hasID bool) bool {
	s.t.Helper()
	headers := map[string]string{}
	if hasID {
		headers["X-Idempotency-Key"] = op
	}
	resp, _ := s.send(client, http.MethodPost, "/pprof?op="+op, s.profileOf(op), headers)
	return resp != nil && resp.StatusCode == http.StatusOK
}

// grpc pushes a profile by gRPC, whose status is in the trailer.
func (s *faulty) grpc(op string) bool {
	s.t.Helper()
	field := func(b []byte, number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
	}
	label := field(field(nil, 1, []byte("op")), 2, []byte(op))
	sample := field(field(nil, 1, s.profileOf(op)), 2, []byte("id of "+op))
	message := field(nil, 1, field(field(nil, 1, label), 2, sample))
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	resp, _ := s.send(s.http2, http.MethodPost, "/push.v1.PusherService/Push", body, map[string]string{"Content-Type": "application/grpc", "Te": "trailers"})
	return resp != nil && resp.StatusCode == http.StatusOK && resp.Trailer.Get("Grpc-Status") == "0"
}

// ask asks for the sum of all rows: an answer that came whole is right.
func (s *faulty) ask() {
	s.t.Helper()
	for _, client := range []*http.Client{s.http1, s.http2} {
		resp, text := s.send(client, http.MethodGet, "/api/v1/top?"+url.Values{"t": {"cpu"}}.Encode(), nil, nil)
		if resp == nil || resp.StatusCode == http.StatusNotFound && len(s.certain) == 0 {
			continue
		}
		var answer struct{ Total []int64 }
		if err := json.Unmarshal(text, &answer); err != nil || len(answer.Total) != 1 {
			s.errorf("status %d: %s", resp.StatusCode, text)
			continue
		}
		least, most := sumOf(s.certain), sumOf(s.certain)+sumOf(s.possible)
		if got := answer.Total[0]; got < least || got > most {
			s.errorf("the sum is %d, want %d to %d", got, least, most)
		}
		resp, text = s.send(client, http.MethodGet, "/pprof?type=cpu", nil, nil)
		if resp == nil {
			continue
		}
		merged, err := pprof.ParseData(text)
		if err != nil {
			s.errorf("a profile that came whole: %v", err)
			continue
		}
		sum := int64(0)
		for _, sample := range merged.Sample {
			sum += sample.Value[0]
		}
		if sum < least || sum > most {
			s.errorf("the sum of a profile is %d, want %d to %d", sum, least, most)
		}
	}
}

func sumOf(values map[string]int64) (sum int64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// finish ends the server, and compares what it leaves.
func (s *faulty) finish() {
	s.t.Helper()
	_, isDead, _ := s.net.outcome()
	if !isDead && s.isOver() {
		s.errorf("the server ended: %v", <-s.ended)
		return
	}
	crashed := s.fs.Crash()
	begun := time.Now()
	if !isDead {
		s.stop()
	}
	select {
	case err := <-s.ended:
		isNamed := err != nil && errors.Is(err, errDevice) && strings.Contains(err.Error(), s.net.Addr().String())
		if isDead != (err != nil) || isDead && !isNamed {
			s.errorf("the server ends with %v", err)
		}
	case <-time.After(effort.Patience):
		s.errorf("the server does not end")
	}
	s.stop()
	if took, most := time.Since(begun), faultDrain+cutTime+closeTime+time.Second; took > most {
		s.errorf("the server ended after %s, want %s", took, most)
	}
	s.http1.CloseIdleConnections()
	s.http2.CloseIdleConnections()
	s.check(s.store, "at last")
	if err := s.store.Close(); err != nil {
		s.t.Error(err)
	}
	for when, fs := range map[string]*crashfs.FS{"after a crash": crashed, "after a restart": s.fs} {
		store, err := columnstore.Open(columnstore.Options{FS: fs, DiskBudget: 16 << 20})
		if err != nil {
			s.t.Fatal(err)
		}
		s.check(store, when)
		if err := store.Close(); err != nil {
			s.t.Error(err)
		}
	}
	if err := goleak.Find(s.leaks); err != nil {
		s.errorf("%v", err)
	}
	if _, _, open := s.net.outcome(); open > 0 {
		s.errorf("%d connections are open", open)
	}
}

// check compares the rows of a store.
func (s *faulty) check(store *columnstore.Store, when string) {
	s.t.Helper()
	err := store.View(s.t.Context(), func(snap *columnstore.Snapshot) error {
		groups, err := store.Tables()[0].Aggregate(s.t.Context(), snap, columnstore.AggregateOptions{
			Sum: profile.ColumnValue, By: []string{profile.ColumnLabels + ".op"},
		})
		if err != nil {
			return err
		}
		found := map[string]int64{}
		for i, sum := range groups.Sums {
			found[groups.Columns[0].Values.Strings[i]] = sum
		}
		for op, want := range s.certain {
			if found[op] != want {
				s.errorf("%s: push %s has %d, want %d", when, op, found[op], want)
			}
			delete(found, op)
		}
		for op, got := range found {
			if got != s.possible[op] {
				s.errorf("%s: push %s has %d, and was not acknowledged", when, op, got)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
