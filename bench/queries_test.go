package main

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// smallFleet has two scrapes and a half in 60,000 rows.
var smallFleet = fleetVariant{jobs: 6, pods: 2, symbols: true, traces: true}

const smallRows = 60_000

// small fills a fleet and closes it when the test ends.
func small(t *testing.T, v fleetVariant, rows int64) *queryFleet {
	t.Helper()
	q, err := fillQueries(v, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.store.Close)
	if q.snap, err = q.store.Snapshot(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.snap.Close)
	return q
}

// TestQueries asks each question of the yardstick on a compacted fleet and wants what
// looking at every row gives.
func TestQueries(t *testing.T) {
	q := small(t, smallFleet, smallRows)
	f, o := newFleetOf(peerSeed, smallFleet), &oracle{}
	for n := range q.about.Profiles {
		if err := o.insert(f.profile(n, peerStart)); err != nil {
			t.Fatal(err)
		}
	}
	for _, y := range yardsticks {
		one, ok := q.questions[y.question]
		if !ok {
			t.Errorf("%s is not among the questions", y.question)
			continue
		}
		got, want := answer(t, q, one), answer(t, o, one)
		if len(want) == 0 {
			t.Errorf("%s has no answer: it tests nothing", y.question)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d elements, want %d; the first that differ: %s", y.question, len(got), len(want), firstDifferent(got, want))
		}
	}
}

// TestQueries_Allocation holds merges to twice the size of their answer. The jobs are as
// large as in a million rows, only fewer, so the selective merges are those that
// -workload queries measures. Whatever it asks, a query may take fixedBytes beside: for
// the conditions, a few bytes a series, and the like.
func TestQueries_Allocation(t *testing.T) {
	const fixedBytes = 16 << 10
	v := queryVariant
	v.jobs = 6
	q := small(t, v, 250_000)
	figures, err := q.measure(5)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		if most := 2*f.Result + fixedBytes; strings.HasPrefix(f.Question, "merge-") && f.AllocBytes > float64(most) {
			t.Errorf("%s allocates %.0f bytes for an answer of %d (%d groups): %.1f times as much, may be %d bytes, twice the answer and %d",
				f.Question, f.AllocBytes, f.Result, f.Groups, f.AllocRatio, most, fixedBytes)
		}
	}
}

// Everything that -workload queries prints is there, with a writer for a moment only.
func TestQueries_Figures(t *testing.T) {
	q := small(t, smallFleet, smallRows)
	figures, err := q.measure(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		if search := strings.HasPrefix(f.Question, "search-"); search != (f.MatchMs > 0) {
			t.Errorf("%s: matching takes %v", f.Question, f.MatchMs)
		}
		if f.CPUms <= 0 || f.AllocBytes < 0 || f.Result <= 0 || f.Batch < 1 || math.IsInf(f.CPUms, 0) {
			t.Errorf("%+v", f)
		}
	}
	for _, name := range []string{"merge-all", "search-many"} {
		c, err := q.cancelled(name, 5)
		if err != nil || c.Cancelled+c.Finished != 5 {
			t.Errorf("%+v, %v", c, err)
		}
	}
	w, err := q.newWriter()
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := w.quiet()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range w.ways() {
		before := q.store.Stats().Rows
		p, err := w.phase(how, 50*time.Millisecond, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if p.Inserts.Count == 0 || p.RowsAfter <= before || len(p.Reads) != len(reads) || p.Reads[0].Count == 0 {
			t.Errorf("%+v", p)
		}
	}
}

// A fleet that is searched has the rows of the one that is not; and one of more jobs has
// the rows of each job.
func TestQueryFleet(t *testing.T) {
	wide := queryVariant
	wide.jobs = 30
	plain, searched, larger := newFleet(1), newFleetOf(1, queryVariant), newFleetOf(1, wide)
	var traced, special int
	const profiles = 120
	for n := range profiles {
		place := plain.place(n)
		if plain.number(place) != n {
			t.Fatalf("profile %d is %+v, which is %d", n, place, plain.number(place))
		}
		want, got := plain.profile(n, peerStart), searched.profile(n, peerStart)
		if !reflect.DeepEqual(got, larger.profile(larger.number(place), peerStart)) {
			t.Fatalf("profile %d is another with more jobs", n)
		}
		checkRecords(t, got)
		if v, ok := got.Columns[profile.ColumnTraceID]; ok {
			if v.Valid == nil {
				traced++
			}
			for i, id := range v.UUIDs {
				if !v.Null(i) && id == fleetTrace {
					special++
				}
			}
		}
		got.Records = nil
		delete(got.Columns, profile.ColumnTraceID)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("profile %d is another without traces and records", n)
		}
	}
	if traced < profiles/6 || traced > profiles/3 || special != 10 {
		t.Errorf("%d of %d profiles have traces, %d rows that one", traced, profiles, special)
	}
}

// checkRecords wants a record for each location and for nothing else, and no two alike.
func checkRecords(t *testing.T, b schema.Batch) {
	t.Helper()
	distinct := map[string]bool{}
	locations := map[[16]byte]bool{}
	for _, stack := range b.Columns[profile.ColumnStacktrace].UUIDLists {
		for _, id := range stack {
			locations[id] = true
			record := b.Records[id]
			if function, file, ok := bytes.Cut(record, []byte{0}); !ok || len(function) == 0 || !bytes.Contains(file, []byte(".go:")) {
				t.Fatalf("record of %v: %q", id, record)
			}
		}
	}
	for _, record := range b.Records {
		distinct[string(record)] = true
	}
	if len(distinct) != len(locations) || len(b.Records) != len(locations) {
		t.Fatalf("%d locations, %d records, %d distinct", len(locations), len(b.Records), len(distinct))
	}
}

// What cannot be measured is an error.
func TestRunQueries_Errors(t *testing.T) {
	for want, err := range map[string]error{
		"at least one row": runQueries(0, 1, 0),
		"want more rows":   runQueries(100, 1, 0),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Fleets of more jobs, and for longer, have the same answers where they have the same
// rows; the others grow.
func TestScaleQueries(t *testing.T) {
	const rows, scale = smallRows, 2
	base := small(t, smallFleet, rows)
	figures, err := base.measure(1)
	if err != nil {
		t.Fatal(err)
	}
	all, err := scaleQueries(smallFleet, figures, rows, 1, scale)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 {
		t.Fatalf("%d fleets, want 2", len(all))
	}
	for _, s := range all {
		if s.Fleet.Rows < scale*rows {
			t.Errorf("%s: %d rows", s.About, s.Fleet.Rows)
		}
		for i, f := range s.Queries {
			same := f.Question == "merge-profile" || f.Question == "merge-trace" || f.Question == "types"
			if f.Question != yardsticks[i].question || f.Ratio <= 0 || f.MustRatio != 1.5 && f.MustRatio != scale || same && !f.SameAnswer {
				t.Errorf("%s: %+v", s.About, f)
			}
		}
	}
}
