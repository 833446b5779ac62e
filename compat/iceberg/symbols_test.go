package iceberg

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	codec "github.com/granarydb/granary/profile/pprof"
)

// symbolProfile is a profile of two binaries: with and without build ids, functions, lines and inlining.
func symbolProfile(at int64) *pprof.Profile {
	app := &pprof.Mapping{ID: 1, Start: 0x400000, Limit: 0x800000, Offset: 0x1000, File: "/bin/app", BuildID: "b1d", HasFunctions: true, HasInlineFrames: true}
	lib := &pprof.Mapping{ID: 2, Start: 0x7f0000000000, Limit: 0x7f0000100000, File: "/lib/libc.so.6", HasFilenames: true, HasLineNumbers: true}
	f := func(id uint64, name string) *pprof.Function {
		return &pprof.Function{ID: id, Name: name, SystemName: "_Z" + name, Filename: name + ".cc", StartLine: int64(id)}
	}
	main, inl, raw := f(1, "main"), f(2, "inl"), f(3, "")
	places := []*pprof.Location{
		{ID: 1, Mapping: app, Address: 0x400123, Line: []pprof.Line{{Function: inl, Line: 7, Column: 3}, {Function: main, Line: 70}}},
		{ID: 2, Mapping: lib, Address: 0x7f0000000040},                                               // without symbols
		{ID: 3, Mapping: lib, Address: 0x7f0000000080, Line: []pprof.Line{{Function: raw, Line: 9}}}, // a function without a name
		{ID: 4, Address: 1 << 63, IsFolded: true, Line: []pprof.Line{{Function: raw}}},               // without a binary, folded
		{ID: 5, Mapping: app, Address: 0x400124, Line: []pprof.Line{{Function: main, Line: 71}}},     // names as of another stack
		{ID: 6, Mapping: app, Address: 0x400125, Line: []pprof.Line{{Function: main, Line: 72}}},
	}
	p := &pprof.Profile{
		TimeNanos: at, DurationNanos: 1e9, SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Mapping: []*pprof.Mapping{app, lib}, Function: []*pprof.Function{main, inl, raw}, Location: places,
	}
	for i, stack := range [][]int{{0, 4}, {1, 0, 4}, {2, 5}, {3}, {5}, {4}, {1, 2, 3, 4, 5, 0}, {}} {
		s := &pprof.Sample{Value: []int64{int64(i) + 1}}
		for _, l := range stack {
			s.Location = append(s.Location, places[l])
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// merged returns the samples of the profile of the job app, with all that is known of their locations, and the binary
// of the program.
func merged(t *testing.T, db *profile.DB, opts LoadOptions) []string {
	t.Helper()
	sel, err := profile.ParseSelector(`{job="app"}`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := db.Profile(t.Context(), snapshot(t, db), profile.Query{Selector: sel, From: opts.From, To: opts.To})
	if err != nil {
		t.Fatal(err)
	}
	samples := []string{p.Mapping[0].File}
	for _, s := range p.Sample {
		text := fmt.Sprint(s.Label, s.NumLabel, s.Value)
		for _, l := range s.Location {
			m := pprof.Mapping{}
			if l.Mapping != nil {
				m = *l.Mapping
				m.ID = 0
			}
			text += fmt.Sprintf("\n%#x %v %+v", l.Address, l.IsFolded, m)
			for _, line := range l.Line {
				f := pprof.Function{}
				if line.Function != nil {
					f = *line.Function
					f.ID = 0
				}
				text += fmt.Sprintf(", %d:%d %+v", line.Line, line.Column, f)
			}
		}
		samples = append(samples, text)
	}
	slices.Sort(samples[1:])
	return samples
}

// newSymbolLake returns a table with symbols and a node, whose rows it has, over midnight.
func newSymbolLake(t *testing.T) (*Lake, *profile.DB) {
	t.Helper()
	l := openIn(t, t.TempDir())
	if err := l.catalog.CreateNamespace(t.Context(), l.ident[:1], nil); err != nil {
		t.Fatal(err)
	}
	if err := l.createSides(t.Context(), ""); err != nil { // an attempt that ended after that
		t.Fatal(err)
	}
	if err := l.Create(t.Context(), TableOptions{Labels: []string{"job"}, Symbols: true}); err != nil {
		t.Fatal(err)
	}
	store, db, err := openNode(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := l.Register(t.Context(), "n", ""); err != nil {
		t.Fatal(err)
	}
	insert(t, db, 5, 9, 30)
	for minute := range int64(3) {
		p := symbolProfile(start + minute*60e9)
		if _, err := db.Insert(t.Context(), p, profile.InsertOptions{Labels: map[string]string{"job": "app"}}); err != nil {
			t.Fatal(err)
		}
	}
	s := &Sealer{Lake: l, Node: "n", Store: store, Table: db.Table(), Grace: time.Hour}
	if did, err := s.Seal(t.Context(), time.Unix(0, start).Add(time.Hour)); err != nil || did.Units < 3 {
		t.Fatalf("%+v, %v", did, err)
	}
	return l, db
}

// Invariant L8: a table with symbols gives the locations of the node back, and the profile.
func TestSymbols(t *testing.T) {
	l, node := newSymbolLake(t)
	for name, opts := range map[string]LoadOptions{
		"all":     {From: start - day, To: start + day},
		"a day":   {From: start + 60e9, To: start + day},
		"a label": {From: start - day, To: start + day, Labels: map[string]string{"job": "app"}},
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t)
			if n, err := l.Load(t.Context(), db, opts); err != nil || n == 0 {
				t.Fatal(n, err)
			}
			same(t, stackKeys(t, node, opts), stackKeys(t, db, opts))
			if diff := cmp.Diff(recordsOf(t, node, opts), recordsOf(t, db, opts)); diff != "" {
				t.Errorf("records (-node +loaded):\n%s", diff)
			}
			if diff := cmp.Diff(merged(t, node, opts), merged(t, db, opts)); diff != "" {
				t.Errorf("profile (-node +loaded):\n%s", diff)
			}
		})
	}
}

// recordsOf returns the records of the locations of rows in a range of time, each once.
func recordsOf(t *testing.T, db *profile.DB, o LoadOptions) []string {
	t.Helper()
	var all []string
	opts := columnstore.ScanOptions{Columns: []string{profile.ColumnStacktrace}, Elements: func(dst []string, id uuid.UUID, record []byte) []string {
		all = append(all, fmt.Sprintf("%s %x", id, record))
		return dst
	}, Where: columnstore.And(columnstore.AtLeast(profile.ColumnTimestamp, o.From), columnstore.Less(profile.ColumnTimestamp, o.To))}
	if job := o.Labels["job"]; job != "" {
		opts.Where = columnstore.And(opts.Where, columnstore.Equal(profile.ColumnLabels+".job", job))
	}
	for rec, err := range db.Table().Scan(t.Context(), snapshot(t, db), opts) {
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// stackKeys returns the rows that options choose, with the ids of their locations.
func stackKeys(t *testing.T, db *profile.DB, opts LoadOptions) []string {
	t.Helper()
	var keys []string
	for _, r := range rowsOfUnit(t, unit(t, db, "", 0)) {
		at := r[columnTimeNanos].(int64)
		if labels := r["labels"].(map[string]string); at >= opts.From && at < opts.To && (opts.Labels == nil || labels["job"] == opts.Labels["job"]) {
			keys = append(keys, r.key())
		}
	}
	slices.Sort(keys)
	return keys
}

// Symbols without samples, samples without symbols, and two stacks with one id.
func TestSymbols_Partial(t *testing.T) {
	l, node := newSymbolLake(t)
	all := LoadOptions{From: start - day, To: start + day}
	tables, err := l.loadSides(t.Context(), mustLoad(t, l))
	if err != nil {
		t.Fatal(err)
	}
	in := &loading{opts: all, locations: map[string]loadedLocation{}}
	if err := in.readSymbols(t.Context(), tables); err != nil || len(in.stacks) < 10 || len(in.places) < 10 {
		t.Fatalf("%d stacks of %d locations, %v", len(in.stacks), len(in.places), err)
	}
	names := loadedKeys(t, node, func(row) bool { return true })
	last, first := map[int]int64{}, map[int]int64{} // by the number of locations
	for id, places := range maps.Clone(in.stacks) {
		if n := len(places); last[n] == 0 {
			first[n], last[n] = id, id
		} else {
			in.stacks[last[n]], last[n] = places, id
		}
	}
	wrong := 0
	for n, id := range last { // each stack has the locations of another one with as many
		if id != first[n] {
			in.stacks[id] = in.stacks[first[n]]
			wrong++
		}
	}
	if wrong < 3 {
		t.Fatal("no stacks of equal lengths")
	}
	db := openDB(t)
	in.db, in.types = db, map[profileSet][]profile.Type{}
	tbl := mustLoad(t, l)
	if err := in.table(t.Context(), tbl, tbl.CurrentSnapshot().SnapshotID); err != nil {
		t.Fatal(err)
	}
	same(t, names, loadedKeys(t, db, func(row) bool { return true }))
}

func mustLoad(t *testing.T, l *Lake) *table.Table {
	t.Helper()
	tbl, err := l.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// A location comes whole from any file that has it so, and a bare one gives way to one with lines. All times can be asked for.
func TestSymbols_Lines(t *testing.T) {
	r := &symbolReader{in: &loading{}, known: map[string]uint32{}}
	zero := func(int) int64 { return 0 }
	numbers := map[string]func(int) int64{}
	for _, name := range []string{columnAddress, columnFlags, columnMappingStart, columnMappingLimit, columnMappingOffset} {
		numbers[name] = zero
	}
	put := func(id string, isCut bool, lines ...string) {
		t.Helper()
		r.begin(id, 0, nil, numbers)
		for _, name := range lines {
			r.at.Lines = append(r.at.Lines, codec.RecordLine{Function: name})
		}
		if r.isCut = isCut; r.end() != nil {
			t.Fatal(r.end())
		}
	}
	put("a", false)
	put("b", true, "half")
	put("a", false, "inl", "main")
	put("a", false)
	put("b", false, "f")
	if len(r.in.places) != 2 || !slices.Equal(r.in.places[r.known["a"]].names, []string{"inl", "main"}) || !slices.Equal(r.in.places[r.known["b"]].names, []string{"f"}) {
		t.Errorf("%v of %v", r.known, r.in.places)
	}
	r.in.parts = mostSymbolParts
	r.begin("c", 0, nil, numbers)
	if err := r.end(); !errors.Is(err, ErrRows) {
		t.Errorf("one location too many: %v", err)
	}
	l, node := newSymbolLake(t)
	all, db := LoadOptions{From: math.MinInt64, To: math.MaxInt64}, openDB(t)
	if _, err := l.Load(t.Context(), db, all); err != nil {
		t.Fatal(err)
	}
	same(t, stackKeys(t, node, all), stackKeys(t, db, all))
}

// A unit of an unknown node, or one that the table has, adds no symbols. A table that is there gets none beside it, and foreign ones are
// refused.
func TestSymbols_Refused(t *testing.T) {
	l, _ := newSymbolLake(t)
	rows := func() int { return len(gotRows(t, l.beside(sideStacks))) }
	was := rows()
	if _, err := l.Commit(t.Context(), writeSeal(t, l, "stranger", 1)); !errors.Is(err, ErrNode) || rows() != was {
		t.Errorf("a stranger: %v, %d stacks of %d", err, rows(), was)
	}
	if done, err := l.Commit(t.Context(), writeSeal(t, l, "n", 1)); done || err != nil || rows() != was {
		t.Errorf("a unit again: %v, %v, %d stacks of %d", done, err, rows(), was)
	}
	plain := openLake(t)
	if err := plain.Create(t.Context(), TableOptions{Symbols: true}); !errors.Is(err, catalog.ErrTableAlreadyExists) {
		t.Error(err)
	}
	if _, err := plain.beside(sideStacks).load(t.Context()); err == nil {
		t.Error("a table beside one that does not know of it")
	}
	foreign := openIn(t, t.TempDir())
	if err := (&Lake{catalog: foreign.catalog, ident: foreign.beside(sideStacks).ident}).Create(t.Context(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := foreign.Create(t.Context(), TableOptions{Symbols: true}); !errors.Is(err, ErrTable) {
		t.Errorf("a foreign table: %v", err)
	}
}

// Days of symbols are dropped with those of samples, their snapshots expire, and their orphans go.
func TestSymbols_Maintain(t *testing.T) {
	l, _ := newSymbolLake(t)
	count := func(side int) int { return len(gotRows(t, l.beside(side))) }
	before := [sides]int{count(sideStacks), count(sideLocations)}
	if err := l.DropBefore(t.Context(), time.Unix(0, start).Add(12*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for side, n := range before {
		if got := count(side); got == 0 || got >= n {
			t.Errorf("side %d: %d of %d rows are left", side, got, n)
		}
	}
	if gone, err := l.Expire(t.Context(), ExpireOptions{Keep: 1}); err != nil || gone < 2*sides {
		t.Errorf("%d snapshots expired, %v", gone, err)
	}
	if files, err := l.RemoveOrphans(t.Context(), time.Hour, true); err != nil || len(files) > 0 {
		t.Errorf("young orphans %v, %v", files, err)
	}
	db := openDB(t)
	if n, err := l.Load(t.Context(), db, LoadOptions{From: start - day, To: start + day}); err != nil || n == 0 {
		t.Fatal(n, err)
	}
}

// A commit whose answer is lost adds symbols once; a unit that is not in the table has symbols all the same.
func TestSymbols_LostAnswer(t *testing.T) {
	l, _ := newSymbolLake(t)
	registered(t, l, "a")
	was := len(gotRows(t, l.beside(sideStacks)))
	commits := 0
	cut := withFaults(l, func(do func() error) error {
		commits++
		if err := do(); err != nil || commits%2 == 0 {
			return err
		}
		return errCut
	})
	files := writeSeal(t, l, "a", 1)
	if _, err := cut.Commit(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	stacks := len(gotRows(t, l.beside(sideStacks))) - was
	if want := len(files.sides[sideStacks]); want != 1 || stacks == 0 || stacks > samplesOf(1) {
		t.Errorf("%d stacks, %d files", stacks, want)
	}
	checkSide := func(side int) {
		tbl := mustLoad(t, l.beside(side))
		tasks, err := tbl.Scan().PlanFiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, task := range tasks {
			if path := task.File.FilePath(); seen[path] {
				t.Errorf("%s is there twice", path)
			} else {
				seen[path] = true
			}
		}
	}
	checkSide(sideStacks)
	checkSide(sideLocations)
}
