package profile

import (
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
)

// statesTest has profiles and states in one store, written in the same transactions.
type statesTest struct {
	db     *DB
	states *columnstore.History
	now    int64 // later changes have later times
	closed bool
	fed    map[string]int64 // by attribute written by Add: start of its next interval
}

// statesAttributes are the attributes of the tests. Attributes with unusual names are found by
// label too.
var statesAttributes = [][]string{
	{"Threads", "1"},
	{"Threads", "2"},
	{"Threads", "-7"},
	{"Threads", "t/1"},
	{"Threads", "{tid}"},
	{"Threads", traceA},
	{"CPU 0", "Thread"},
	{"CPU 1", "Thread"},
	{"", "{", "*"},
	{"Phase"},
	{"1", "1", "x1"},
	{"Threads", "unused"},
}

var statesPaths = [][]string{
	{"Threads", "{tid}"},
	{"Threads", "{tid}"},
	{"CPU {cpu}", "Thread"},
	{"", "{{", "*"},
	{"Phase"},
	{"{tid}", "{tid}", "x{tid}"},
	{"Threads", "{trace_id}"},
	{"Threads", "{{tid}}"},
	{"Threads", "{nobody}"},
	{"{cpu}{tid}"},
	{"Threads"},
	{"Threads", "{span_id}"},
}

func newStatesTest(t *rapid.T) *statesTest {
	store, err := columnstore.Open(columnstore.Options{
		Manual: true, FutureLimit: -1, GranuleRows: 16, FreshParts: 2, GenerationBuckets: rapid.SampledFrom([]int{1, 2, 16}).Draw(t, "generation"),
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(store, Options{Bucket: rapid.SampledFrom([]time.Duration{oracleBucket, oracleBucket, -1}).Draw(t, "bucket")})
	if err != nil {
		t.Fatal(err)
	}
	states, err := store.CreateHistory("states", columnstore.HistoryOptions{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	return &statesTest{db: db, states: states, now: start - 1, fed: map[string]int64{}}
}

// write commits profiles and states in one transaction.
func (s *statesTest) write(t *rapid.T) {
	tx := s.db.store.Begin()
	for range rapid.IntRange(0, 3).Draw(t, "profiles") {
		at := rapid.Int64Range(-5, 300).Draw(t, "time")
		if rapid.IntRange(0, 3).Draw(t, "time of others") > 0 {
			at = rapid.SampledFrom([]int64{2, 17, 31, 55, 60}).Draw(t, "time")
		}
		p := makeProfile(start+at*1e9, "n:count inuse_m:bytes", s.stacks(t)...)
		labels := map[string]string{"job": "a", "tid": rapid.SampledFrom([]string{"", "", "", "2", "unknown"}).Draw(t, "tid of the profile")}
		if _, err := s.db.InsertTx(ctx, tx, p, InsertOptions{Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	if !s.closed && rapid.IntRange(0, 3).Draw(t, "states") > 0 {
		s.change(t, tx)
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func (s *statesTest) stacks(t *rapid.T) (stacks []stack) {
	for range rapid.IntRange(1, 8).Draw(t, "samples") {
		k := stack{
			frames: rapid.SampledFrom(oracleStacks).Draw(t, "stack"),
			values: rapid.SliceOfN(rapid.SampledFrom([]int64{0, 1, -1, 5, 1 << 40}), 2, 2).Draw(t, "values"),
			labels: map[string][]string{}, nums: map[string][]int64{}, units: map[string][]string{},
		}
		if tid := rapid.SampledFrom([]string{"", "", "1", "t/1", "{tid}", "nothing"}).Draw(t, "tid"); tid != "" {
			k.labels["tid"] = []string{tid, "2"}[:rapid.IntRange(1, 2).Draw(t, "tids")]
		}
		if trace := rapid.SampledFrom([]string{"", "", traceA, strings.ToUpper(traceA)}).Draw(t, "trace"); trace != "" {
			k.labels["trace_id"] = []string{trace}
			k.labels["span_id"] = []string{spanA}
		}
		for _, name := range []string{"tid", "cpu"} {
			if rapid.Bool().Draw(t, "a number") {
				k.nums[name] = []int64{rapid.SampledFrom([]int64{0, 1, 2, -7}).Draw(t, name), 2}
				k.units[name] = rapid.SampledFrom([][]string{{"", ""}, {"id", "id"}, {"id", ""}}).Draw(t, "units")
			}
		}
		stacks = append(stacks, k)
	}
	return stacks
}

// change writes states that are later than all committed ones.
func (s *statesTest) change(t *rapid.T, tx *columnstore.Tx) {
	w, err := tx.History(s.states)
	if err != nil {
		t.Fatal(err)
	}
	from, latest := s.now+1, s.now
	for range rapid.IntRange(1, 12).Draw(t, "changes") {
		path := rapid.SampledFrom(statesAttributes[:len(statesAttributes)-1]).Draw(t, "attribute")
		a, err := w.Attribute(path...)
		if err != nil {
			t.Fatal(err)
		}
		at := from + rapid.Int64Range(0, 40e9).Draw(t, "at")
		if path[0] == "CPU 1" {
			begin, ok := s.fed[path[0]]
			if !ok {
				begin = start
			}
			at = max(at, begin)
			err = w.Add(a, begin, at, history.Int(rapid.Int64Range(0, 2).Draw(t, "value")))
			s.fed[path[0]] = at + 1
		} else if in, ongoing := w.Ongoing(a); ongoing != nil || at < in.Start {
			continue
		} else {
			err = w.Change(at, a, statesValue(t, path[0]))
		}
		if err != nil {
			t.Fatal(err)
		}
		latest = max(latest, at)
	}
	if _, err := w.Attribute("Threads", "unused"); err != nil {
		t.Fatal(err)
	}
	s.now = latest + 1
	if s.closed = rapid.IntRange(0, 9).Draw(t, "close") == 0; s.closed {
		if err := w.Close(latest + rapid.Int64Range(0, 50e9).Draw(t, "closed")); err != nil {
			t.Fatal(err)
		}
	}
}

func statesValue(t *rapid.T, of string) history.Value {
	switch {
	case rapid.IntRange(0, 4).Draw(t, "null") == 0:
		return history.Value{}
	case of == "Phase":
		return history.Bool(rapid.Bool().Draw(t, "value"))
	case of == "1":
		return history.Float(rapid.SampledFrom([]float64{0, -1.5, 7}).Draw(t, "value"))
	case of == "CPU 0":
		return history.Int(rapid.Int64Range(-1, 3).Draw(t, "value"))
	}
	return history.String(rapid.SampledFrom([]string{"", "running", "blocked"}).Draw(t, "value"))
}

// Each sample is in the group of the state of its attribute at its time, as found by a search
// row by row, over several generations, before and after compaction (P7). The groups sum to
// the total.
func TestMergeByState(t *testing.T) {
	statuses := map[StateStatus]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := newStatesTest(t)
		defer s.db.store.Close()
		s.check(t, statuses)
		for range rapid.IntRange(1, 5).Draw(t, "transactions") {
			s.write(t)
		}
		s.check(t, statuses)
		if err := s.db.store.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 2).Draw(t, "late transactions") {
			s.write(t)
		}
		s.check(t, statuses)
		if err := s.db.store.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		s.check(t, statuses)
	})
	for status := range firstState {
		if statuses[status] == 0 {
			t.Errorf("no sample had the status %v", status)
		}
	}
}

func (s *statesTest) check(t *rapid.T, statuses map[StateStatus]int) {
	snap, err := s.db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	typ := rapid.SampledFrom(oracleTypes).Draw(t, "type")
	selector, err := ParseSelector(rapid.SampledFrom([]string{"", "", `{tid!=""}`, `{tid="2"}`}).Draw(t, "selector"))
	if err != nil {
		t.Fatal(err)
	}
	q := Query{Selector: selector, From: rapid.SampledFrom([]int64{0, 0, start + 50e9}).Draw(t, "from"), SumGauges: true}
	path := rapid.SampledFrom(statesPaths).Draw(t, "path")
	want := s.rowByRow(t, snap, typ, q, path)
	got, err := s.db.MergeByState(ctx, snap, typ, q, States{History: s.states, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	sums, total := map[string]map[string]int64{}, int64(0)
	for i, g := range got {
		statuses[g.Status]++
		sums[fmt.Sprint(g.Status, " ", g.State.Kind(), " ", g.State)] = locationSums(g.Stacks)
		total += g.Stacks.Total
		if i > 0 && (got[i-1].Status > g.Status || got[i-1].Status == g.Status && got[i-1].State.Compare(g.State) >= 0) {
			t.Fatalf("%v %v comes after %v %v", g.Status, g.State, got[i-1].Status, got[i-1].State)
		}
		if g.Status != StateKnown && !g.State.IsNull() || g.Stacks.Type != typ || g.Stacks.Len() != len(locationSums(g.Stacks)) {
			t.Fatalf("group of %v %v, %v: a stack twice or another type", g.Status, g.State, g.Stacks.Type)
		}
	}
	if diff := gocmp.Diff(want, sums); diff != "" {
		t.Fatalf("states of %q: -want +got\n%s", path, diff)
	}
	all, err := s.db.Merge(ctx, snap, typ, q)
	if err != nil || all.Total != total {
		t.Fatalf("the groups sum to %d, all samples to %d, %v", total, all.Total, err)
	}
	whole := total
	q.Under = rapid.SampledFrom(oraclePaths).Draw(t, "functions")
	if got, err = s.db.MergeByState(ctx, snap, typ, q, States{History: s.states, Path: path}); err != nil {
		t.Fatal(err)
	}
	for _, g := range got {
		total -= g.Stacks.Total
	}
	all, err = s.db.Merge(ctx, snap, typ, Query{Selector: q.Selector, From: q.From, SumGauges: true, Under: q.Under})
	if err != nil || whole-total != all.Total {
		t.Fatalf("the groups under %q sum to %d, all samples to %d, %v", q.Under, whole-total, all.Total, err)
	}
}

// locationSums returns the sum of each stack, keyed by its locations.
func locationSums(s *Stacks) map[string]int64 {
	sums := map[string]int64{}
	w := s.known().Walk(nil)
	for i, code := range s.codes {
		var texts []string
		for _, y := range w.Locations(code) {
			var l Location
			l.Mapping, l.BuildID, l.Address = y.Place()
			for k := range y.Frames() {
				l.Frames = append(l.Frames, Frame(y.Frame(k)))
			}
			texts = append(texts, fmt.Sprint(l))
		}
		sums[fmt.Sprint(texts)] += s.values[i]
	}
	return sums
}

// locationTexts makes a scan yield stacks as texts of their locations.
func locationTexts(dst []string, _ uuid.UUID, record []byte) []string {
	l, err := DecodeLocation(record)
	if err != nil {
		return append(dst, err.Error())
	}
	return append(dst, fmt.Sprint(l))
}

// rowByRow is the oracle: it decodes each row and looks up its state.
func (s *statesTest) rowByRow(t *rapid.T, snap *columnstore.Snapshot, typ Type, q Query, path []string) map[string]map[string]int64 {
	view, err := snap.History(s.states)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]map[string]int64{}
	for rec, err := range s.db.table.Scan(ctx, snap, columnstore.ScanOptions{Where: q.Expr(typ), Form: columnstore.Plain, Elements: locationTexts}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			row := rowOf(t, rec, i)
			state := "no label <kind> null"
			if names, ok := oraclePath(row, path); ok {
				state = stateOf(view, names, row[ColumnTimestamp].(int64))
			}
			state = strings.Replace(state, "<kind>", "null", 1)
			if sums[state] == nil {
				sums[state] = map[string]int64{}
			}
			sums[state][fmt.Sprint(row[ColumnStacktrace])] += row[ColumnValue].(int64)
		}
		rec.Release()
	}
	for _, of := range sums {
		maps.DeleteFunc(of, func(_ string, sum int64) bool { return sum == 0 })
	}
	return sums
}

func stateOf(view *history.View, names []string, at int64) string {
	a, err := view.Lookup(names...)
	if err != nil {
		return "no attribute <kind> null"
	}
	in, err := view.At(a, at)
	if err != nil {
		return "no instant <kind> null"
	}
	return fmt.Sprint(StateKnown, " ", in.Value.Kind(), " ", in.Value)
}

// oraclePath replaces labels by their values in a row.
func oraclePath(row map[string]any, path []string) (names []string, ok bool) {
	for _, name := range path {
		name = strings.NewReplacer("{{", "\x00", "}}", "\x01").Replace(name)
		for _, label := range []string{"tid", "cpu", "trace_id", "span_id", "nobody"} {
			if strings.Contains(name, "{"+label+"}") {
				value := oracleLabel(row, label)
				if value == "" {
					return nil, false
				}
				name = strings.ReplaceAll(name, "{"+label+"}", strings.NewReplacer("{", "\x00", "}", "\x01").Replace(value))
			}
		}
		names = append(names, strings.NewReplacer("\x00", "{", "\x01", "}").Replace(name))
	}
	return names, true
}

func oracleLabel(row map[string]any, label string) string {
	for _, column := range []string{"labels." + label, "pprof_labels." + label, label, "pprof_num_labels." + label, "pprof_num_labels." + label + "[id]"} {
		switch v := row[column].(type) {
		case string:
			if v != "" {
				return v
			}
		case int64:
			return strconv.FormatInt(v, 10)
		case uint64:
			return fmt.Sprintf("%016x", v)
		case uuid.UUID:
			return hex.EncodeToString(v[:])
		}
	}
	return ""
}

// rowOf decodes a row of a record.
func rowOf(t *rapid.T, rec arrow.Record, i int) map[string]any {
	row := map[string]any{}
	for k, column := range rec.Columns() {
		if column.IsNull(i) {
			continue
		}
		switch c := column.(type) {
		case *array.String:
			row[rec.ColumnName(k)] = strings.Clone(c.Value(i))
		case *array.Int64:
			row[rec.ColumnName(k)] = c.Value(i)
		case *array.Uint64:
			row[rec.ColumnName(k)] = c.Value(i)
		case *array.FixedSizeBinary:
			row[rec.ColumnName(k)] = uuid.UUID(c.Value(i))
		case *array.List:
			var names []string
			for at, end := c.ValueOffsets(i); at < end; at++ {
				names = append(names, strings.Clone(c.ListValues().(*array.String).Value(int(at))))
			}
			row[rec.ColumnName(k)] = names
		default:
			t.Fatalf("column %q is a %T", rec.ColumnName(k), column)
		}
	}
	return row
}
