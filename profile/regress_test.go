package profile

import (
	"testing"

	pprof "github.com/google/pprof/profile"
)

// A trace id is a label of its sample: a selector finds it, although it has its own column.
func TestSelectorFindsTraceID(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c80319c"
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}, labels: map[string][]string{"trace_id": {trace}}}, stack{frames: "f", values: []int64{2}}))
	for text, want := range map[string]int64{`{trace_id="` + trace + `"}`: 1, `{trace_id!=""}`: 1, `{trace_id=""}`: 2, `{trace_id=~"0af7.*"}`: 1} {
		s, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := db.Merge(ctx, view(t, db), cpuCount, Query{Selector: s}); err != nil || got.Total != want {
			t.Errorf("%s: total %d, %v; want %d", text, got.Total, err, want)
		}
	}
}

// P1: two sample types with one name and unit stay separate, or the profile is refused. They
// are never summed.
func TestSampleTypesThatAreEqual(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count n:count", stack{frames: "f", values: []int64{1, 2}})
	if _, err := db.Insert(ctx, p, InsertOptions{}); err != nil {
		return
	}
	got, err := db.Profile(ctx, view(t, db), Query{})
	if err != nil || got.Sample[0].Value[0] != 1 || got.Sample[0].Value[1] != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

// No kind of a transaction is visible before its commit.
func TestAbortedInsertLeavesNoKind(t *testing.T) {
	db := testDB(t, Options{})
	tx := db.Store().Begin()
	if _, err := db.InsertTx(ctx, tx, makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}}), InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	tx.Abort()
	if types, err := db.Types(ctx, view(t, db)); err != nil || len(types) != 0 {
		t.Errorf("%v, %v", types, err)
	}
}

// The first mapping of a pprof file is the program, whose name pprof prints.
func TestProfileKeepsMainMapping(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}}, stack{frames: "g", values: []int64{2}})
	library := &pprof.Mapping{ID: 2, File: "/lib/libc.so", Start: 0x10000, Limit: 0x20000}
	p.Mapping = append(p.Mapping, library)
	p.Location[0].Mapping = library
	insert(t, db, p)
	got, err := db.Profile(ctx, view(t, db), Query{})
	if err != nil || got.Mapping[0].File != "/usr/bin/app" {
		t.Errorf("%v, %v", got.Mapping, err)
	}
}
