package iceberg

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"

	pprof "github.com/google/pprof/profile"
)

// newTiers returns a table with units of a node, which has them and younger rows, and late ones.
func newTiers(t *testing.T) (*Lake, *profile.DB) {
	t.Helper()
	l := openLake(t, "job")
	store, db, err := openNode(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	web, err := server.New(store, server.Options{Profiles: profile.Options{Bucket: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(web)
	t.Cleanup(front.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	if err := l.Register(t.Context(), "n", front.URL); err != nil {
		t.Fatal(err)
	}
	insert(t, db, 5, 9, 30) // three minutes, over midnight
	s := &Sealer{Lake: l, Node: "n", Store: store, Table: db.Table(), Grace: time.Hour}
	if did, err := s.Seal(t.Context(), time.Unix(0, start).Add(2*time.Minute)); err != nil || did.Units < 2 {
		t.Fatalf("%+v, %v", did, err)
	}
	insert(t, db, 2, 4, 20) // late
	return l, db
}

// loadedKeys returns rows without what the table does not have, or has for itself: where a row is, and the ids of its locations.
func loadedKeys(t *testing.T, db *profile.DB, choose func(r row) bool) []string {
	t.Helper()
	var keys []string
	for _, key := range wantRows(t, unit(t, db, "", 0)) {
		r := row{}
		numbers := json.NewDecoder(strings.NewReader(key))
		numbers.UseNumber()
		if err := numbers.Decode(&r); err != nil {
			t.Fatal(err)
		}
		delete(r, columnStackID)
		if choose(r) {
			keys = append(keys, r.key())
		}
	}
	slices.Sort(keys)
	return keys
}

// within chooses rows by time.
func within(from, to int64) func(r row) bool {
	return func(r row) bool {
		at, err := r[columnTimeNanos].(json.Number).Int64()
		return err == nil && at >= from && at < to
	}
}

// The rows of both tiers are those of the node, and so are the answers.
func TestLoad(t *testing.T) {
	l, node := newTiers(t)
	all := LoadOptions{From: start - day, To: start + day}
	chosen := map[string]struct {
		opts   LoadOptions
		choose func(r row) bool
	}{
		"all":               {all, func(row) bool { return true }},
		"time of the table": {LoadOptions{From: start + 20e9 + 1, To: start + 100e9}, within(start+20e9+1, start+100e9)},
		"time of the node":  {LoadOptions{From: start + 100e9, To: start + 160e9}, within(start+100e9, start+160e9)},
		"labels": {LoadOptions{From: all.From, To: all.To, Labels: map[string]string{"job": "job0", "zone.é": "süd"}}, func(r row) bool {
			labels := r["labels"].(map[string]any)
			return labels["job"] == "job0" && labels["zone.é"] == "süd"
		}},
		"none": {LoadOptions{From: all.From, To: all.To, Labels: map[string]string{"job": "job7"}}, func(row) bool { return false }},
	}
	for name, c := range chosen {
		t.Run(name, func(t *testing.T) {
			want, db := loadedKeys(t, node, c.choose), openDB(t)
			read, of, ofNodes := int64(0), int64(0), int64(0)
			c.opts.Rows = int64(len(want))
			c.opts.Progress = func(r, o int64) {
				if read, of = r, o; o == 0 {
					ofNodes = r
				} else if r > o {
					t.Errorf("%d rows were read, of %d", r, o)
				}
			}
			n, err := l.Load(t.Context(), db, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if inTable := int64(len(gotRows(t, l))); n != int64(len(want)) || read < n || of > ofNodes+inTable || name == "all" && of != ofNodes+inTable {
				t.Errorf("%d rows, want %d; %d were read, %d of them of nodes, of %d with files of %d rows", n, len(want), read, ofNodes, of, inTable)
			}
			same(t, want, loadedKeys(t, db, func(row) bool { return true }))
			if len(want) > 0 {
				compareAnswers(t, node, db, c.opts)
			}
			if c.opts.Rows > 1 {
				c.opts.Rows--
				if _, err := l.Load(t.Context(), openDB(t), c.opts); !errors.Is(err, ErrRows) {
					t.Errorf("one row too many: %v", err)
				}
			}
		})
	}
}

// compareAnswers compares types, kinds, labels and sums by function with those of a node.
func compareAnswers(t *testing.T, node, db *profile.DB, opts LoadOptions) {
	t.Helper()
	var matchers []string
	for name, value := range opts.Labels {
		matchers = append(matchers, fmt.Sprintf("%q=%q", name, value))
	}
	sel, err := profile.ParseSelector("{" + strings.Join(matchers, ",") + "}")
	if err != nil {
		t.Fatal(err)
	}
	answers := func(db *profile.DB) map[string]any {
		out, snap := map[string]any{}, snapshot(t, db)
		q := profile.Query{Selector: sel, From: opts.From, To: opts.To}
		types, err := db.Types(t.Context(), snap)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(types, func(a, b profile.Type) int { return strings.Compare(a.String(), b.String()) }) // the table has no order
		out["types"] = types
		shown, err := db.DefaultType(t.Context(), snap, q)
		if err != nil {
			t.Fatal(err)
		}
		out["default"] = shown
		if found, err := db.FindType(t.Context(), snap, "cpu"); err != nil || found.Sample != "cpu" {
			t.Errorf("type cpu: %v, %v", found, err)
		}
		kinds, err := db.Kinds(t.Context(), snap, q)
		if err != nil {
			t.Fatal(err)
		}
		out["kinds"] = len(kinds)
		names, err := db.LabelNames(t.Context(), snap, q)
		if err != nil {
			t.Fatal(err)
		}
		out["labels"] = names
		for _, typ := range types {
			stacks, err := db.Merge(t.Context(), snap, typ, q)
			if err != nil {
				t.Fatal(err)
			}
			sums := map[string]int64{}
			for frames, value := range stacks.All() {
				var path []string
				for _, f := range frames {
					path = append(path, f.Function)
				}
				sums[strings.Join(path, ";")] += value
			}
			out[typ.String()] = sums
		}
		return out
	}
	if diff := cmp.Diff(answers(node), answers(db)); diff != "" {
		t.Errorf("answers (-node +loaded):\n%s", diff)
	}
}

// A column of a label that came into the table later is null in rows from before.
func TestLoad_NewColumn(t *testing.T) {
	l, node := newTiers(t)
	err := l.change(t.Context(), func(tbl *table.Table) (*table.Transaction, error) {
		tx := tbl.NewTransaction()
		return tx, tx.UpdateSchema(true, false).AddColumn([]string{labelPrefix + "pod"}, iceberg.PrimitiveTypes.String, "", false, nil).Commit()
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &Sealer{Lake: l, Node: "n", Store: node.Store(), Table: node.Table(), Grace: time.Hour}
	if did, err := s.Seal(t.Context(), time.Unix(0, start).Add(time.Hour)); err != nil || did.Units == 0 {
		t.Fatalf("%+v, %v", did, err)
	}
	want := loadedKeys(t, node, func(r row) bool { return r["labels"].(map[string]any)["pod"] == "pod1" })
	db := openDB(t)
	opts := LoadOptions{From: start - day, To: start + day, Labels: map[string]string{"pod": "pod1"}, TableOnly: true}
	if _, err := l.Load(t.Context(), db, opts); err != nil {
		t.Fatal(err)
	}
	same(t, want, loadedKeys(t, db, func(row) bool { return true }))
}

// A table alone, a node that has dropped rows, one that is not there, and choices that are none.
func TestLoad_Errors(t *testing.T) {
	l, node := newTiers(t)
	opts := LoadOptions{From: start - day, To: start + day}
	both := len(loadedKeys(t, node, func(row) bool { return true }))
	alone := opts
	alone.TableOnly = true
	n, err := l.Load(t.Context(), openDB(t), alone)
	if rows := int64(len(gotRows(t, l))); err != nil || n != rows || n == 0 || n >= int64(both) {
		t.Errorf("the table alone: %d rows of %d, %v", n, rows, err)
	}
	for _, bad := range []LoadOptions{{}, {From: 2, To: 1}, {From: 1, To: 2, Rows: -1}, {From: 1, To: 2, Labels: map[string]string{"job": ""}}} {
		if _, err := l.Load(t.Context(), openDB(t), bad); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	closed, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := profile.Open(closed, profile.Options{})
	if err == nil {
		err = closed.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Load(t.Context(), db, opts); !errors.Is(err, columnstore.ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
		text   string
	}{
		"dropped rows": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "dropped", http.StatusGone) }, ErrGone, "status 410: dropped"},
		"a refusal":    {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) }, nil, "status 418: no"},
		"no stream":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, ErrRecord, ""},
		"other rows":   {sendRows(arrow.Field{Name: "value", Type: arrow.PrimitiveTypes.Int64}), ErrRecord, `no column "sample_type"`},
		"other types":  {sendRows(arrow.Field{Name: "sample_type", Type: arrow.PrimitiveTypes.Int64}), ErrRecord, `column "sample_type" is of type int64`},
	} {
		hostile := httptest.NewServer(c.answer)
		if err := l.Register(t.Context(), "n", hostile.URL); err != nil {
			t.Fatal(err)
		}
		n, err := l.Load(t.Context(), openDB(t), opts)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), "node n: ") || !strings.Contains(err.Error(), c.text) || n != 0 {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
		hostile.Close()
		if _, err := l.Load(t.Context(), openDB(t), opts); err == nil {
			t.Error("a node that is away is no error")
		}
	}
}

// sendRows answers with a record of one column, and one row.
func sendRows(f arrow.Field) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.Append(1)
		schema := arrow.NewSchema([]arrow.Field{f}, nil)
		out := ipc.NewWriter(w, ipc.WithSchema(schema))
		_ = out.Write(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 1))
		_ = out.Close()
	}
}

// A node that cuts its answer, at any byte of it, is an error, and no panic.
func TestLoad_Cut(t *testing.T) {
	l, node := newTiers(t)
	nodes, err := l.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(nodes.Nodes[0].Hot())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	whole, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	cut := 0
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole[:cut]) }))
	defer front.Close()
	if err := l.Register(t.Context(), "n", front.URL); err != nil {
		t.Fatal(err)
	}
	opts := LoadOptions{From: start - day, To: start + day}
	for cut = 0; cut < len(whole)-8; cut += 1 + len(whole)/200 { // the last 8 bytes say that it ends
		if n, err := l.Load(t.Context(), openDB(t), opts); err == nil {
			t.Fatalf("%d of %d bytes: %d rows and no error", cut, len(whole), n)
		}
	}
	cut = len(whole)
	if n, err := l.Load(t.Context(), openDB(t), opts); err != nil || n != int64(len(loadedKeys(t, node, func(row) bool { return true }))) {
		t.Errorf("the whole answer: %d rows, %v", n, err)
	}
}

// Profiles of two kinds and periods, and of some of whose types no value is a row, have equal labels.
func TestLoad_Kinds(t *testing.T) {
	l, node := newTiers(t)
	heap := func(values ...int64) {
		p := &pprof.Profile{TimeNanos: start, PeriodType: &pprof.ValueType{Type: "space", Unit: "bytes"}, Sample: []*pprof.Sample{{Value: values}}}
		for _, name := range []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"} {
			p.SampleType = append(p.SampleType, &pprof.ValueType{Type: name, Unit: "n"})
		}
		labels := map[string]string{"job": fmt.Sprint("job", values[3]%2), "pod": "pod1"}
		if _, err := node.Insert(t.Context(), p, profile.InsertOptions{Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	heap(1, 2, 0, 0)
	heap(1, 2, 3, 5)
	db, opts := openDB(t), LoadOptions{From: start - day, To: start + day}
	if _, err := l.Load(t.Context(), db, opts); err != nil {
		t.Fatal(err)
	}
	compareAnswers(t, node, db, opts)
}
