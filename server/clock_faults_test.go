package server

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/faultclock"
	"github.com/granarydb/granary/profile"
)

var (
	clockOpsFlag = flag.Int("clock.ops", 60, "operations while readings of the clock are wrong")
	clockEvery   = flag.Int("clock.every", 17, "make each n-th reading wrong")
	clockKind    = flag.Int("clock.kind", 0, "the fault of the first reading; the next one has the next")
	clockAll     = flag.Bool("clock.all", false, "give each reading all faults, one after the other")
)

// TestClock_EveryReadingIsWrong makes readings wrong of the clock that a server and its store have. Nothing that was acknowledged is
// lost or doubled, rows without a time of their own are where the clock was, and once the clock is right all is taken, counted and
// let go again.
func TestClock_EveryReadingIsWrong(t *testing.T) {
	effort.Alone(t)
	ops := clockOps(t, *clockOpsFlag)
	right := newClocked(t, ops, faultclock.Fault{Name: "a right clock"}, 0)
	right.run()
	all := right.clock.Readings()
	right.finish()
	runs := 0
	for n := 1; n <= all && !t.Failed(); n += *clockEvery {
		kinds := faultclock.Faults
		if !*clockAll {
			at := (*clockKind + runs) % len(kinds)
			kinds = kinds[at : at+1]
		}
		for _, fault := range kinds {
			if runs++; fault.IsSet() && n == 1 { // which the store reads when it is opened: no clock is set then, but is wrong from the start
				continue
			}
			c := newClocked(t, ops, fault, n)
			c.run()
			c.finish()
		}
	}
	t.Logf("%d operations read the clock %d times; %d runs", len(ops), all, runs)
}

// clocked is a server with a store, both by one clock, and what they must have.
type clocked struct {
	t     *testing.T
	name  string // of the fault
	clock *faultclock.Clock
	fs    *crashfs.FS
	store *columnstore.Store
	s     *Server
	ops   []clockOp

	rows    map[string]clockRow // by the label op
	deleted map[string]bool
	heap    map[string]clockHeap // by the label op
	marks   map[string]bool
	pushed  int64 // the sum of all CPU time that was taken
}

// clockRow is a row that was taken.
type clockRow struct {
	times []time.Time // one of them is its time
	value int64
}

// clockHeap is the last profile that counts from the start of a process, and the growth so far.
type clockHeap struct {
	value, grown int64
	at           time.Time
}

func (c *clocked) options() columnstore.Options {
	return columnstore.Options{
		FS: c.fs, Manual: true, Sync: disk.SyncEach, LogBytes: 8 << 10, DiskBudget: 16 << 20,
		Retention: 4 * time.Hour, PastLimit: 24 * time.Hour, Now: c.clock.Now,
	}
}

// newClocked starts a server whose clock has a fault from the first-th reading on.
func newClocked(t *testing.T, ops []clockOp, fault faultclock.Fault, first int) *clocked {
	t.Helper()
	c := &clocked{
		t: t, name: fmt.Sprintf("%s at reading %d", fault.Name, first), clock: faultclock.New(clockEpoch, fault, first),
		fs: crashfs.New(crashfs.Options{}), ops: ops,
		rows: map[string]clockRow{}, deleted: map[string]bool{}, heap: map[string]clockHeap{}, marks: map[string]bool{},
	}
	var err error
	if c.store, err = columnstore.Open(c.options()); err != nil {
		t.Fatal(err)
	}
	c.s, err = New(c.store, Options{
		Now: c.clock.Now, Deleted: func(Deletion) error { return nil },
		Older: func(_ context.Context, db *profile.DB, _, _ int64, progress func(read, of int64)) error {
			insertInto(t, db)
			progress(48, 48)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rules := clockOp{name: "rules", method: http.MethodPost, path: "/rules", body: []byte(`{"interval":"1m","rules":[{"name":"cpu_total","type":"cpu"}]}`)}
	if status, text := c.send(&rules); status != http.StatusOK {
		t.Fatalf("rules: status %d: %s", status, text)
	}
	return c
}

// run does the operations.
func (c *clocked) run() {
	for i := range c.ops {
		op := &c.ops[i]
		c.clock.Move(time.Duration(i) * clockStep)
		switch {
		case op.do != nil:
			op.do(c, op)
		case op.row != "":
			c.push(op)
		default:
			c.send(op)
		}
	}
}

// errorf reports a failure with the fault.
func (c *clocked) errorf(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("%s: "+format, append([]any{c.name}, args...)...)
}

// send sends a request. No answer is an internal error.
func (c *clocked) send(op *clockOp) (int, string) {
	c.t.Helper()
	req := httptest.NewRequestWithContext(c.t.Context(), op.method, op.path, bytes.NewReader(op.body))
	req.Host = "localhost"
	for i := 0; i < len(op.headers); i += 2 {
		req.Header.Set(op.headers[i], op.headers[i+1])
	}
	rec := httptest.NewRecorder()
	c.s.ServeHTTP(rec, req)
	if rec.Code >= http.StatusInternalServerError {
		c.errorf("%s: status %d: %s", op.name, rec.Code, rec.Body)
	}
	return rec.Code, rec.Body.String()
}

// push pushes rows, and notes them if they are taken for the first time.
func (c *clocked) push(op *clockOp) (taken bool, text string) {
	c.t.Helper()
	before := len(c.clock.Seen())
	status, text := c.send(op)
	if status != http.StatusOK || op.path == otlpPath && text != "" { // OTLP refuses parts
		return false, text
	}
	switch _, has := c.rows[op.row]; {
	case op.isHeap:
		c.grow(op)
	case !has && !c.deleted[op.row]:
		row := clockRow{[]time.Time{op.at}, op.value}
		if op.at.IsZero() {
			row.times = slices.Clone(c.clock.Seen()[before:])
		}
		c.rows[op.row] = row
		c.pushed += op.value
	}
	return true, text
}

// grow notes a profile that counts from the start of its process. After more than an hour it starts anew.
func (c *clocked) grow(op *clockOp) {
	row := op.path[strings.Index(op.path, "op=")+len("op="):]
	before, has := c.heap[row]
	next := clockHeap{value: op.value, at: op.at, grown: before.grown}
	if has && op.at.Sub(before.at) <= time.Hour { // always, without times
		next.grown += op.value - before.value
	}
	c.heap[row] = next
}

// stepRules does what RunRules does when it wakes.
func (c *clocked) stepRules() {
	if c.s.rules.wait(c.clock.Now()) == 0 {
		c.s.stepRules(c.t.Context(), c.clock.Now())
	}
}
