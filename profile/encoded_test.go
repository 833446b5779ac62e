package profile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

// InsertEncoded gives the parsed profile's rows. It neither changes nor retains the bytes.
func TestInsertEncoded(t *testing.T) {
	p := makeProfile(start, "n:count m:count", stack{frames: "a +b c", values: []int64{1, 2}, labels: map[string][]string{"k": {"v"}}}, stack{frames: "c", values: []int64{0, 4}})
	zipped, plain := encoded(t, p)
	for name, data := range map[string][]byte{"gzipped": zipped, "plain": plain} {
		db := testDB(t, Options{})
		given := bytes.Clone(data)
		rows, err := db.InsertEncoded(ctx, given, InsertOptions{Labels: map[string]string{"job": "x"}})
		if err != nil || rows != 3 {
			t.Fatalf("%s: %d rows, %v", name, rows, err)
		}
		if !bytes.Equal(given, data) {
			t.Errorf("%s: the bytes were changed", name)
		}
		clear(given)
		if _, err := db.InsertEncoded(ctx, zipped[:9], InsertOptions{}); !errors.Is(err, ErrProfile) {
			t.Errorf("%s, then damaged bytes: error %v", name, err)
		}
		selector, err := ParseSelector(`{job="x"}`)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.Profile(ctx, view(t, db), Query{Selector: selector})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(answerOf(p), answerOf(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// P2: the inserts of one transaction become visible together, and a refused insert does not
// affect the others.
func TestInsertEncodedTx(t *testing.T) {
	db := testDB(t, Options{})
	zipped, _ := encoded(t, makeProfile(start, "n:count", stack{frames: "a b", values: []int64{1}}))
	nameless, _ := encoded(t, makeProfile(start, "n:count", stack{frames: "a b", values: []int64{1}, labels: map[string][]string{"": {"v"}}}))
	tx := db.Store().Begin()
	for range 2 {
		if rows, err := db.InsertEncodedTx(ctx, tx, zipped, InsertOptions{}); err != nil || rows != 1 {
			t.Fatalf("%d rows, %v", rows, err)
		}
		if _, err := db.InsertEncodedTx(ctx, tx, nameless, InsertOptions{}); !errors.Is(err, columnstore.ErrBatch) {
			t.Fatalf("a label without a name: error %v", err)
		}
	}
	if got := db.store.Stats().Rows; got != 0 {
		t.Errorf("%d rows before the commit", got)
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := db.store.Stats().Rows; got != 2 {
		t.Errorf("%d rows after the commit, want 2", got)
	}
	db.store.Close()
	if rows, err := db.InsertEncoded(ctx, zipped, InsertOptions{}); !errors.Is(err, columnstore.ErrClosed) || rows != 0 {
		t.Errorf("closed: %d rows, error %v", rows, err)
	}
}

// Concurrent inserts share only the store: each profile keeps its totals. The test is also
// meant for the race detector.
func TestInsertEncodedAtOneTime(t *testing.T) {
	files, err := filepath.Glob(filepath.FromSlash("../testdata/profiles/etcd/*.pb.gz"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	db := testDB(t, Options{})
	var wait sync.WaitGroup
	for i, name := range files {
		wait.Go(func() {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := db.InsertEncoded(ctx, data, InsertOptions{Labels: map[string]string{"n": fmt.Sprint(i)}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wait.Wait()
	snap := view(t, db)
	for i, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pprof.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		checkTotals(t, db, snap, name, p, fmt.Sprint(i))
	}
}

func checkTotals(t *testing.T, db *DB, snap *columnstore.Snapshot, name string, p *pprof.Profile, n string) {
	t.Helper()
	selector, err := ParseSelector(`{n="` + n + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, typ := range typeListOf(p).Types {
		want := int64(0)
		for _, s := range p.Sample {
			want += s.Value[i]
		}
		got, err := db.Merge(ctx, snap, typ, Query{Selector: selector})
		if errors.Is(err, ErrUnknownType) && want == 0 {
			continue
		}
		if err != nil || got.Total != want {
			t.Errorf("%s: %v: total %d, %v; want %d", name, typ, got.Total, err, want)
		}
	}
}

// Decoding into a used workspace allocates little, and a workspace above maxKept is not kept.
func TestWorkspaceIsReused(t *testing.T) {
	data, err := os.ReadFile(filepath.FromSlash("../testdata/profiles/etcd/heap-1.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	w, limits := new(workspace), Limits{}.WithDefaults()
	once := func() {
		if err := w.read(data, limits); err != nil {
			t.Fatal(err)
		}
	}
	once()
	if n := testing.AllocsPerRun(10, once); n > 8 {
		t.Errorf("to decode a profile takes %.0f allocations once it is warm, want at most 8", n)
	}
	db := testDB(t, Options{})
	w.flat.Values = make([]int64, 2*maxKept/8)
	db.release(w)
	if again := db.workspace(); again == w {
		t.Error("a workspace of over the bound was kept")
	}
}
