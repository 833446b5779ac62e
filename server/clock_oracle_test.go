package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
)

// totalOf returns the total of an answer.
func totalOf(text string) int64 {
	var answer page.TopAnswer
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Total) != 1 {
		return -1
	}
	return answer.Total[0]
}

// total asks for the sum of the rows with times of their own. It returns the commit of the answer, empty if there is none.
func (c *clocked) total(op *clockOp, more string) (sum int64, commit string) {
	c.t.Helper()
	asked := url.Values{
		"t": {"cpu"}, "q": {`{src="own"}`},
		"from": {clockEpoch.Format(time.RFC3339)}, "to": {clockEpoch.Add(6 * time.Hour).Format(time.RFC3339)},
	}
	question := ask("/api/v1/top?" + asked.Encode() + more)
	question.name = op.name
	status, text := c.send(&question)
	if status != http.StatusOK {
		return 0, ""
	}
	var head page.TopAnswer
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		c.errorf("%s: %s", op.name, text)
	}
	return totalOf(text), fmt.Sprint(head.Commit)
}

// checkTotal compares the sum of the rows with times of their own.
func (c *clocked) checkTotal(op *clockOp) {
	c.t.Helper()
	want := int64(0)
	for _, r := range c.rows {
		if len(r.times) == 1 {
			want += r.value
		}
	}
	if got, _ := c.total(op, ""); got != want {
		c.errorf("%s: the sum is %d, want %d", op.name, got, want)
	}
}

// found returns the rows of a store: values of a type by label and time.
func (c *clocked) found(store *columnstore.Store, typ string) map[string]map[int64]int64 {
	c.t.Helper()
	found := map[string]map[int64]int64{}
	err := store.View(c.t.Context(), func(snap *columnstore.Snapshot) error {
		groups, err := store.Tables()[0].Aggregate(c.t.Context(), snap, columnstore.AggregateOptions{
			Sum: profile.ColumnValue, By: []string{profile.ColumnLabels + ".op", profile.ColumnTimestamp},
			Where: columnstore.Equal(profile.ColumnSampleType, typ),
		})
		if err != nil {
			return err
		}
		for i, sum := range groups.Sums {
			row := groups.Columns[0].Values.Strings[i]
			if found[row] == nil {
				found[row] = map[int64]int64{}
			}
			found[row][groups.Columns[1].Values.Int64s[i]] = sum
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// checkRows compares the rows of a store.
func (c *clocked) checkRows(store *columnstore.Store, when string) {
	c.t.Helper()
	found := c.found(store, "cpu")
	for row, want := range c.rows {
		got := found[row]
		isThere := slices.ContainsFunc(want.times, func(at time.Time) bool { return got[at.UnixNano()] == want.value })
		if len(got) != 1 || !isThere {
			c.errorf("%s: row %s is %v, want %d at one of %v", when, row, got, want.value, want.times)
		}
		delete(found, row)
	}
	if len(found) > 0 {
		c.errorf("%s: rows that were not taken: %v", when, found)
	}
	for row, heap := range c.found(store, "alloc_space") {
		grown := int64(0)
		for _, v := range heap {
			grown += v
		}
		if want := c.heap[row].grown; grown > want || row == "own" && grown != want {
			c.errorf("%s: heap %s grew by %d, want %d", when, row, grown, want)
		}
	}
}

// finish heals the clock, checks that the server works by it and has what it took, and ends it.
func (c *clocked) finish() {
	c.t.Helper()
	c.clock.Heal()
	n := len(c.ops)
	c.clock.Move(time.Duration(n) * clockStep)
	ready := ask("/readyz")
	if status, text := c.send(&ready); status != http.StatusOK {
		c.errorf("it is not ready: %s", text)
	}
	for i := range c.ops {
		if op := &c.ops[i]; op.row != "" && !op.isHeap {
			if taken, text := c.push(op); !taken {
				c.errorf("%s is refused at last: %s", op.name, text)
			}
		}
	}
	c.finishRules(n + 1)
	c.finishPushes(n + 380) // an hour and more: after that a source begins anew that was ahead for as long
	c.checkTotal(&clockOp{name: "the end"})
	c.checkHeld()
	for text := range c.marks {
		if !slices.Contains(c.texts(), text) {
			c.errorf("annotation %q is lost", text)
		}
	}
	c.checkRows(c.store, "at last")
	c.restart()
}

// finishPushes checks that pushes in each way are taken, and that growth is.
func (c *clocked) finishPushes(from int) {
	c.t.Helper()
	for i, f := range []func(*testing.T, int) clockOp{pushPprof, pushNow, pushIngest, pushConnect, pushOTLP, pushHeap, pushHeapNow, pushHeap, pushHeapNow} {
		c.clock.Move(time.Duration(from+i) * clockStep)
		op := f(c.t, from+i)
		if taken, text := c.push(&op); !taken {
			c.errorf("a push to %s is refused: %s", op.path, text)
		}
	}
	const grown = 200 // of two operations
	for row, heap := range c.found(c.store, "alloc_space") {
		newest := slices.Max(slices.Collect(maps.Keys(heap)))
		if set := clockEpoch.Add(6 * time.Hour).UnixNano(); newest > set { // from when the clock was ahead
			for at := range heap {
				if at > set {
					delete(heap, at)
				}
			}
			newest = slices.Max(slices.Collect(maps.Keys(heap)))
		}
		if heap[newest] != grown {
			c.errorf("the last growth of heap %s is %d, want %d", row, heap[newest], grown)
		}
	}
}

// checkHeld checks that nothing is held for longer than it may be.
func (c *clocked) checkHeld() {
	c.t.Helper()
	snapshots, _ := c.s.tenants.all()[0].source.Holds()
	older, _ := c.s.older.Holds()
	if files, _ := c.s.opened.Holds(); snapshots > 1 || older || files > 0 {
		c.errorf("%d snapshots, older profiles %v, %d files are held", snapshots, older, files)
	}
}

// finishRules checks that the rules count what comes now, and counted nothing twice.
func (c *clocked) finishRules(from int) {
	c.t.Helper()
	steps := func(n int) {
		for range n {
			c.clock.Move(time.Duration(from) * clockStep)
			c.stepRules()
			from++
		}
	}
	const twoMinutes = 12
	steps(twoMinutes)
	before := c.counted()
	op := pushPprof(c.t, from)
	c.push(&op)
	steps(twoMinutes + 2)
	if got := c.counted(); got-before != op.value || got > c.pushed {
		c.errorf("the rules counted %d more, want %d; %d of %d in all", got-before, op.value, got, c.pushed)
	}
}

// counted returns the value of the rule.
func (c *clocked) counted() int64 {
	metrics := ask("/metrics")
	_, text := c.send(&metrics)
	for line := range strings.Lines(text) {
		var seconds float64
		if n, err := fmt.Sscanf(line, "cpu_total %g", &seconds); n == 1 && err == nil {
			return int64(math.Round(seconds * 1e9))
		}
	}
	return 0
}

// texts returns the texts of all annotations.
func (c *clocked) texts() (all []string) {
	question := ask("/api/v1/annotations")
	_, text := c.send(&question)
	var out page.AnnotationsAnswer
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		c.t.Error(err)
	}
	for _, m := range out.Annotations {
		all = append(all, m.Text)
	}
	return all
}

// restart ends the server and the store, and compares what a crash before that, and a restart after it, leave.
func (c *clocked) restart() {
	c.t.Helper()
	crashed := c.fs.Crash()
	if err := c.s.Wait(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	if err := c.store.Close(); err != nil {
		c.t.Error(err)
	}
	for when, fs := range map[string]*crashfs.FS{"after a crash": crashed, "after a restart": c.fs} {
		c.fs = fs
		store, err := columnstore.Open(c.options())
		if err != nil {
			c.t.Fatal(err)
		}
		c.checkRows(store, when)
		if err := store.Close(); err != nil {
			c.t.Error(err)
		}
	}
}
