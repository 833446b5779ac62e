package workloads

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// smallFleet has two and a half scrapes in 60,000 rows.
var smallFleet = fleet.Variant{Jobs: 6, Pods: 2, Symbols: true, Traces: true}

const smallRows = 60_000

// small fills a fleet and closes it when the test ends.
func small(t *testing.T, v fleet.Variant, rows int64) *FilledFleet {
	t.Helper()
	q, err := fillQueries(v, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Store.Close() })
	if q.Snap, err = q.Store.Snapshot(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Snap.Close)
	return q
}

// TestQueries asks each question of a compacted fleet and expects the answer of the oracle.
func TestQueries(t *testing.T) {
	q := small(t, smallFleet, smallRows)
	f, o := fleet.NewVariant(fleet.Seed, smallFleet), &peers.Oracle{}
	for n := range q.about.Profiles {
		if err := o.Insert(f.Profile(n, fleet.Start)); err != nil {
			t.Fatal(err)
		}
	}
	for _, y := range yardsticks {
		one, ok := q.questions[y.question]
		if !ok {
			t.Errorf("%s is not among the questions", y.question)
			continue
		}
		got, want := answered(t, q, one), answered(t, o, one)
		if len(want) == 0 {
			t.Errorf("%s has no answer: it tests nothing", y.question)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d elements, want %d; the first that differ: %s", y.question, len(got), len(want), peers.FirstDifferent(got, want))
		}
	}
}

// TestQueries_Allocation bounds the allocations of merges by twice the size of their
// answer. Fewer jobs of the full size keep the selective merges as they are at a million
// rows. Any query may allocate fixedBytes more, for its conditions and a few bytes a
// series.
func TestQueries_Allocation(t *testing.T) {
	const fixedBytes = 16 << 10
	v := fleet.Searchable
	v.Jobs = 6
	q := small(t, v, 250_000)
	figures, err := askAll(q, 5)
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

// Every figure of -workload queries is measured, with a writer for a moment only.
func TestQueries_Figures(t *testing.T) {
	q := small(t, smallFleet, smallRows)
	figures, err := askAll(q, 1)
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
		c, err := cancelled(q, name, 5)
		if err != nil || c.Cancelled+c.Finished != 5 {
			t.Errorf("%+v, %v", c, err)
		}
	}
	w, err := newWriter(q)
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := w.quiet()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range w.ways() {
		before := q.Store.Stats().Rows
		p, err := w.phase(how, 50*time.Millisecond, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if p.Inserts.Count == 0 || p.RowsAfter <= before || len(p.Reads) != len(reads) || p.Reads[0].Count == 0 {
			t.Errorf("%+v", p)
		}
	}
}

// The rows of a fleet with symbols are those of a fleet without, and a fleet of more jobs
// has the same rows of each job.
func TestQueryFleet(t *testing.T) {
	wide := fleet.Searchable
	wide.Jobs = 30
	plain, searched, larger := fleet.New(1), fleet.NewVariant(1, fleet.Searchable), fleet.NewVariant(1, wide)
	var traced, special int
	const profiles = 120
	for n := range profiles {
		place := plain.Place(n)
		if plain.Number(place) != n {
			t.Fatalf("profile %d is %+v, which is %d", n, place, plain.Number(place))
		}
		want, got := plain.Profile(n, fleet.Start), searched.Profile(n, fleet.Start)
		if !reflect.DeepEqual(got, larger.Profile(larger.Number(place), fleet.Start)) {
			t.Fatalf("profile %d is another with more jobs", n)
		}
		checkRecords(t, got)
		if v, ok := got.Columns[profile.ColumnTraceID]; ok {
			if v.Valid == nil {
				traced++
			}
			for i, id := range v.UUIDs {
				if !v.Null(i) && id == fleet.TraceID {
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

// checkRecords expects one record for each location, all of them different.
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

// An impossible measurement is an error.
func TestRunQueries_Errors(t *testing.T) {
	for want, err := range map[string]error{
		"at least one row": Queries(0, 1, 0),
		"want more rows":   Queries(100, 1, 0),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Larger fleets have the same answers where they have the same rows.
func TestScaleQueries(t *testing.T) {
	const rows, scale = smallRows, 2
	base := small(t, smallFleet, rows)
	figures, err := askAll(base, 1)
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

// answered returns the answer of a store to a question.
func answered(t *testing.T, p peers.Store, q peers.Question) map[string]int {
	t.Helper()
	all, err := peers.Answer(p, q)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
