package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/source"
)

// madeRange is the path of a range with all made profiles.
const madeRange = "/older/2026-01-31T09:00:00Z--2026-01-31T10:00:00Z"

// insertInto inserts the made profiles into a store of profiles.
func insertInto(t testing.TB, db *profile.DB) { (&asker{db: db, t: t}).insertMade() }

// readOlder reads a range of older profiles, and returns the lines of the answer. It calls some functions at the first line.
func (a *asker) readOlder(ctx context.Context, path string, first ...func()) (lines []olderLine, status int, text string) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+path+"/read", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body := bufio.NewReader(resp.Body)
	for {
		line, err := body.ReadString('\n')
		text += line
		for _, f := range first {
			f()
		}
		first = nil
		if err != nil {
			return lines, resp.StatusCode, text
		}
		if resp.StatusCode == http.StatusOK {
			lines = append(lines, olderLine{})
			if err := json.Unmarshal([]byte(line), &lines[len(lines)-1]); err != nil {
				a.t.Fatalf("%q: %v", line, err)
			}
		}
	}
}

// isRead reports whether the profiles of a range were read.
func isRead(lines []olderLine) bool { return len(lines) > 0 && lines[len(lines)-1].Done }

// TestOlder reads profiles that the store does not have. All questions are then answered below their path, as by a server
// that has them.
func TestOlder(t *testing.T) {
	now, calls := madeAt, 0
	var from, to int64
	a := newAsker(t, Options{Now: func() time.Time { return now }, Older: func(_ context.Context, db *profile.DB, first, last int64, progress func(read, of int64)) error {
		calls, from, to = calls+1, first, last
		progress(3, 48)
		insertInto(t, db)
		progress(48, 48)
		return nil
	}})
	a.insert(madeAt.Add(24*time.Hour), cpuType, map[string]string{profile.NameLabel: "process_cpu"}, made{stack: "f main", value: 7})
	want := newAsker(t, Options{Now: func() time.Time { return now }})
	want.insertMade()

	older := *a
	older.url += madeRange
	unread := func(when string) {
		t.Helper()
		if status, text, _ := older.page("flame", nil, "t", "cpu"); status != http.StatusConflict || !strings.Contains(text, "are not read") {
			t.Errorf("%s: status %d: %s", when, status, text)
		}
		if status, text := fetched(t, older.url+"/"); status != http.StatusOK || !strings.Contains(text, "<html") {
			t.Errorf("%s: the page: status %d: %.100s", when, status, text)
		}
	}
	unread("before")
	stays := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stays.Get(older.url + "?t=cpu")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if to := resp.Header.Get("Location"); resp.StatusCode != http.StatusMovedPermanently || to != "./"+strings.TrimPrefix(madeRange, "/older/")+"/?t=cpu" {
		t.Errorf("without a slash: status %d to %s", resp.StatusCode, to)
	}
	lines, status, text := a.readOlder(t.Context(), madeRange)
	if !isRead(lines) || lines[len(lines)-1].Read != 48 || lines[len(lines)-1].Of != 48 {
		t.Fatalf("status %d: %s", status, text)
	}
	if from != madeAt.UnixNano() || to != madeAt.Add(time.Hour).UnixNano() {
		t.Errorf("%d to %d were read", from, to)
	}
	for _, of := range [][]string{{"t", "cpu"}, {"t", "cpu", "q", `{pod="pod-1"}`}, {"t", "cpu", "from", "latest-40s"}} {
		if got, want := older.flame(of...).Tree.lines(0), want.flame(of...).Tree.lines(0); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%v: %v, want %v", of, got, want)
		}
	}
	if got := a.flame("t", "cpu"); got.Total[0] != 7 {
		t.Errorf("the store has %v", got.Total)
	}
	var state page.StoreAnswer
	if a.page("store", &state); !state.Older || state.Rows != 1 {
		t.Errorf("%+v", state)
	}
	if older.page("store", &state); state.Rows != 48 {
		t.Errorf("%+v", state)
	}
	for name, c := range clients(t, older.url) {
		if name == "grpc" {
			continue // its paths begin at the host
		}
		ask := func(c querierv1connect.QuerierServiceClient) *querierv1.SelectMergeStacktracesResponse {
			got, err := c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, LabelSelector: "{}", Start: madeAt.UnixMilli(), End: madeAt.Add(time.Hour).UnixMilli()}))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return got.Msg
		}
		if got, want := ask(c), ask(want.c); !proto.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if status, text := fetched(t, older.url+"/pprof?type=cpu"); status != http.StatusOK || len(text) == 0 {
		t.Errorf("pprof: status %d", status)
	}
	if status, text, _ := older.page("command", nil, "t", "cpu"); status != http.StatusOK || !strings.Contains(text, madeRange+"/pprof?") {
		t.Errorf("command: status %d: %s", status, text)
	}
	for _, path := range []string{"/pprof?job=a", "/ingest?name=a"} {
		resp, err := http.Post(older.url+path, "", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed && resp.StatusCode != http.StatusNotFound {
			t.Errorf("push to %s: status %d", path, resp.StatusCode)
		}
	}
	if lines, _, _ := a.readOlder(t.Context(), madeRange); !isRead(lines) || calls != 1 {
		t.Errorf("%d calls", calls)
	}
	now = now.Add(source.OlderTime - 1)
	older.flame("t", "cpu")
	now = now.Add(source.OlderTime)
	unread("after ten minutes")
	if lines, _, _ := a.readOlder(t.Context(), madeRange); !isRead(lines) || calls != 2 {
		t.Errorf("%d calls", calls)
	}
	if lines, _, text := a.readOlder(t.Context(), "/older/2026-01-31T09:00:00Z--2026-01-31T09:30:00Z"); !isRead(lines) || calls != 3 {
		t.Errorf("%d calls, %s", calls, text)
	}
	unread("after those of another range")
	_ = a.Wait(t.Context())
	if isKept, _ := a.older.Holds(); isKept {
		t.Error("older profiles are kept after the end")
	}
}

// TestOlder_Errors: errors before the first line have their status, later ones are in the last line. Nothing is kept.
func TestOlder_Errors(t *testing.T) {
	broken := errors.New("the lake is frozen")
	fill := func(_ context.Context, db *profile.DB, _, _ int64, progress func(read, of int64)) error {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 100_000 {
			a := &asker{db: db, t: t}
			p := made{stack: fmt.Sprint("f", rng.Int64(), " g", rng.Int64(), " main"), value: 1}
			a.insert(madeAt.Add(time.Duration(i)*time.Second), cpuType, map[string]string{"job": "a"}, p)
			if db.Store().Stats().EvictedRows > 0 {
				progress(int64(i), 100_000)
				return nil
			}
		}
		return broken
	}
	for name, test := range map[string]struct {
		path   string
		older  func(context.Context, *profile.DB, int64, int64, func(read, of int64)) error
		limits Limits
		status int
		text   string
	}{
		"no range":   {path: "/older/yesterday", status: 400, text: `range: "yesterday" is no time of RFC 3339: want FROM--TO`},
		"one time":   {path: "/older/2026-01-31T09:00:00Z", status: 400, text: "is no time"},
		"a far year": {path: "/older/2026-01-31T09:00:00Z--2500-01-31T09:00:00Z", status: 400, text: "is no time"},
		"backwards":  {path: "/older/2026-01-31T09:00:00Z--2026-01-31T09:00:00Z", status: 400, text: "not before its end"},
		"at once":    {older: func(context.Context, *profile.DB, int64, int64, func(read, of int64)) error { return broken }, status: 500, text: "older profiles: the lake is frozen"},
		"a limit": {older: func(context.Context, *profile.DB, int64, int64, func(read, of int64)) error {
			return fmt.Errorf("%w: %w", ErrLimit, broken)
		}, status: 422, text: "limit: the lake is frozen"},
		"in the midst": {older: func(_ context.Context, _ *profile.DB, _, _ int64, progress func(read, of int64)) error {
			progress(1, 2)
			return broken
		}, status: 200, text: `{"read":1,"of":2,"error":"older profiles: the lake is frozen"}`},
		"memory": {older: fill, limits: Limits{OlderBytes: 4 << 20}, status: 200, text: "limit: the memory of older profiles, at most 4194304 bytes: choose a shorter time"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.path == "" {
				test.path = madeRange
			}
			if test.older == nil {
				test.older = func(context.Context, *profile.DB, int64, int64, func(read, of int64)) error {
					t.Error("it is read")
					return nil
				}
			}
			a := newAsker(t, Options{Older: test.older, Limits: test.limits})
			lines, status, text := a.readOlder(t.Context(), test.path)
			if status != test.status || !strings.Contains(text, test.text) || isRead(lines) {
				t.Errorf("status %d: %s", status, text)
			}
			if got, _ := fetched(t, a.url+test.path+"/api/v1/store"); got != http.StatusConflict && got != http.StatusBadRequest {
				t.Errorf("then it answers with %d", got)
			}
			if isKept, isReading := a.older.Holds(); isKept || isReading {
				t.Error("something is kept")
			}
		})
	}
	a := newAsker(t, Options{Tokens: Tokens{Read: []string{"r"}}, Older: fill})
	if _, status, _ := a.readOlder(t.Context(), madeRange); status != http.StatusUnauthorized {
		t.Errorf("read without a token: status %d", status)
	}
	if status, _ := fetched(t, a.url+madeRange+"/api/v1/store"); status != http.StatusUnauthorized {
		t.Errorf("a question without a token: status %d", status)
	}
	if _, err := New(nil, Options{Older: fill, Limits: Limits{OlderBytes: 1000}}); !errors.Is(err, ErrLimit) {
		t.Errorf("too little memory: %v", err)
	}
	if status, _ := fetched(t, newAsker(t, Options{}).url+madeRange+"/"); status != http.StatusNotFound {
		t.Errorf("a server without older profiles: status %d", status)
	}
}

// TestOlder_Fails: waiting callers get the error of a reading, and do not repeat it.
func TestOlder_Fails(t *testing.T) {
	for name, panics := range map[string]bool{"an error": false, "a panic": true} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			begun, goOn := make(chan struct{}), make(chan struct{})
			a := newAsker(t, Options{Older: func(_ context.Context, _ *profile.DB, _, _ int64, progress func(read, of int64)) error {
				if calls.Add(1) > 1 {
					return errors.New("it is repeated")
				}
				progress(1, 2)
				close(begun)
				<-goOn
				if panics {
					panic("frozen")
				}
				return errors.New("frozen")
			}})
			var waiting, told sync.WaitGroup
			waiting.Go(func() { a.readOlder(t.Context(), madeRange) })
			<-begun
			told.Add(3)
			for range 3 {
				waiting.Go(func() {
					lines, _, text := a.readOlder(t.Context(), madeRange, told.Done)
					if isRead(lines) || !strings.Contains(text, "frozen") && !strings.Contains(text, "internal error") {
						t.Error(text)
					}
				})
			}
			told.Wait() // they wait
			close(goOn)
			waiting.Wait()
			if isKept, isReading := a.older.Holds(); calls.Load() != 1 || isKept || isReading {
				t.Errorf("%d readings", calls.Load())
			}
		})
	}
}

// TestOlder_AtOnce: requests for one range wait for one reading, and one of them goes on if its client leaves. Another range
// is refused meanwhile.
func TestOlder_AtOnce(t *testing.T) {
	var calls atomic.Int64
	begun, goOn := make(chan struct{}, 2), make(chan struct{})
	a := newAsker(t, Options{Older: func(ctx context.Context, db *profile.DB, _, _ int64, progress func(read, of int64)) error {
		calls.Add(1)
		progress(1, 2)
		begun <- struct{}{}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-goOn:
			insertInto(t, db)
			return nil
		}
	}})
	leave, left := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() { a.readOlder(leave, madeRange) })
	<-begun
	for range 3 {
		waiting.Go(func() {
			if lines, status, text := a.readOlder(t.Context(), madeRange); !isRead(lines) {
				t.Errorf("status %d: %s", status, text)
			}
		})
	}
	if _, status, text := a.readOlder(t.Context(), "/older/2026-01-31T09:00:00Z--2026-01-31T09:30:00Z"); status != http.StatusTooManyRequests || !strings.Contains(text, "that of another is read now, 1 rows so far") {
		t.Errorf("status %d: %s", status, text)
	}
	left()
	select {
	case <-begun:
	case <-time.After(effort.Patience):
		t.Error("nobody goes on")
	}
	close(goOn)
	waiting.Wait()
	if calls.Load() != 2 {
		t.Errorf("%d readings", calls.Load())
	}
}
