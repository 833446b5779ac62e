package server

import (
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/server/internal/push"
	"github.com/granarydb/granary/server/internal/web"
)

// clock is a clock that a test moves.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(time.Now().UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()) }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// TestIDs_Key pushes one request several times with a key.
func TestIDs_Key(t *testing.T) {
	c := newClock()
	r := newReceiver(t, Options{Now: c.now}, columnstore.Options{})
	body := small(t, 5)
	pushed := func(key string, headers ...string) *http.Request {
		return r.request(http.MethodPost, "/pprof?job=a", body, append(headers, push.KeyHeader, key)...)
	}
	steps := []struct {
		what string
		req  *http.Request
		text string
	}{
		{"the first", pushed("k"), "2 rows"},
		{"the same", pushed("k"), "0 rows"},
		{"another key", pushed("l"), "2 rows"},
		{"another tenant", pushed("k", web.TenantHeader, "b"), "2 rows"},
		{"no key", pushed(""), "2 rows"},
		{"no key again", pushed(""), "2 rows"},
	}
	for _, s := range steps {
		r.want(http.StatusOK, s.text, s.req)
	}
	c.advance(push.IDAge - time.Second)
	r.want(http.StatusOK, "0 rows", pushed("k"))
	c.advance(2 * push.IDAge)
	r.want(http.StatusOK, "2 rows", pushed("k"))
	multi, ct := form(t, part{"profile", body})
	rows := r.rows()
	for range 2 {
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=a", multi, "Content-Type", ct, push.KeyHeader, "m"))
	}
	if r.rows() != rows+2 {
		t.Errorf("%d rows of a request to /ingest that was repeated", r.rows()-rows)
	}
}

// TestIDs_Failure retries a push that failed, in the same and in other ways.
func TestIDs_Failure(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	r.want(http.StatusBadRequest, "pprof", r.request(http.MethodPost, "/pprof", []byte("none"), push.KeyHeader, "k"))
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1), push.KeyHeader, "k"))

	client := r.pushers()["connect"]
	both := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries(nil, small(t, 2), []byte("none"))}}
	if _, err := client.Push(t.Context(), connect.NewRequest(both)); err == nil {
		t.Fatal("a bad profile was taken")
	}
	both.Series[0].Samples[1].RawProfile = small(t, 3)
	both.Series[0].Samples = append(both.Series[0].Samples, both.Series[0].Samples[0]) // one id twice
	rows := r.rows()
	if _, err := client.Push(t.Context(), connect.NewRequest(both)); err != nil || r.rows() != rows+4 {
		t.Errorf("%d rows after a failure, want 4: %v", r.rows()-rows, err)
	}
}

// TestIDs_Concurrent pushes one id, and sets of ids in different orders, at once.
func TestIDs_Concurrent(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	client, one := r.pushers()["connect"], small(t, 4)
	a, b := pushSeries(nil, one), pushSeries(nil, one)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			if i%2 == 0 {
				r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof", one, push.KeyHeader, "k"))
				return
			}
			list := []*pushv1.RawProfileSeries{a, b}
			if i%4 == 1 {
				list = []*pushv1.RawProfileSeries{b, a}
			}
			if _, err := client.Push(t.Context(), connect.NewRequest(&pushv1.PushRequest{Series: list})); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r.rows() != 6 {
		t.Errorf("%d rows of three profiles of two rows", r.rows())
	}
}

// TestIDs_DiskFails repeats a push that was committed when the disk failed (S1). It is accepted once the rows are durable.
func TestIDs_DiskFails(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	r := newReceiver(t, Options{}, columnstore.Options{FS: fs, Sync: disk.SyncEach})
	pushed := func() *http.Request { return r.request(http.MethodPost, "/pprof", small(t, 1), push.KeyHeader, "k") }
	fs.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync}, Forever: true})
	r.want(http.StatusServiceUnavailable, "not durable", pushed())
	if r.rows() != 2 {
		t.Errorf("%d rows of a commit that is not durable", r.rows())
	}
	r.want(http.StatusServiceUnavailable, "disk", r.request(http.MethodPost, "/pprof", small(t, 1)))
	r.want(http.StatusServiceUnavailable, "not durable", pushed())
	fs.Heal()
	repeat(t, func() bool { status, text := r.send(pushed()); return status == http.StatusOK && text == "0 rows\n" })
	if rows := rowsAfterCrash(t, fs); r.rows() != 2 || rows != 2 {
		t.Errorf("%d rows after the repetition, %d after a crash", r.rows(), rows)
	}
}

// TestIDs_DiskFailsSamples is TestIDs_DiskFails for ids of profiles.
func TestIDs_DiskFailsSamples(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	r := newReceiver(t, Options{}, columnstore.Options{FS: fs, Sync: disk.SyncEach})
	client := r.pushers()["connect"]
	series := []*pushv1.RawProfileSeries{pushSeries(nil, small(t, 2), small(t, 3))}
	pushed := func() connect.Code {
		if _, err := client.Push(t.Context(), connect.NewRequest(&pushv1.PushRequest{Series: series})); err != nil {
			return connect.CodeOf(err)
		}
		return 0
	}
	fs.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync}, Forever: true})
	for range 3 {
		if code := pushed(); code != connect.CodeUnavailable {
			t.Errorf("a push that is not durable: %v", code)
		}
	}
	fs.Heal()
	repeat(t, func() bool { return pushed() == 0 })
	if rows := rowsAfterCrash(t, fs); r.rows() != 4 || rows != 4 {
		t.Errorf("%d rows after the repetition, %d after a crash", r.rows(), rows)
	}
}

// repeat repeats a push until it is accepted: the log tries the disk again after a while.
func repeat(t *testing.T, push func() (accepted bool)) {
	t.Helper()
	for end := time.Now().Add(effort.Patience); !push(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no repetition is accepted")
		}
	}
}

// rowsAfterCrash returns the rows that a crash of the machine now leaves.
func rowsAfterCrash(t *testing.T, fs *crashfs.FS) int64 {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{FS: fs.Crash()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	return store.Stats().Rows
}
