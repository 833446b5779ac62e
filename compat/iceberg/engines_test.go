package iceberg

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/export"
	"github.com/granarydb/granary/profile"

	array14 "github.com/apache/arrow/go/v14/arrow/array"
)

var (
	enginesDir  = flag.String("engines.dir", "", "TestEngines leaves its table and the exports of its rows in this folder")
	enginesMore = flag.Bool("engines.more", false, "TestEngines adds units to the table that is in the folder")
)

// TestEngines makes the table that the script run has other engines read: several nodes and
// units, late rows, traces, empty stacks, labels that only some rows have. Here it only checks
// the number of rows, also of a table that another engine has compacted.
func TestEngines(t *testing.T) {
	ctx := context.Background()
	dir := *enginesDir
	if dir == "" {
		dir = t.TempDir()
	}
	l, seals, want := openIn(t, dir), []int64{1, 2, 3}, 0
	if *enginesMore {
		seals, want = []int64{4, 5}, len(gotRows(t, l))
	} else if err := l.Create(ctx, TableOptions{Labels: []string{"job", "pod"}, Symbols: true}); err != nil {
		t.Fatal(err)
	}
	for node := range 2 {
		id := fmt.Sprint("node-", node)
		if err := l.Register(ctx, id, ""); err != nil {
			t.Fatal(err)
		}
		for _, seal := range seals {
			db := openDB(t)
			insert(t, db, 3+node+int(seal), 5, 40) // the times of the units overlap
			u := unit(t, db, id, seal)
			files, err := l.Write(ctx, u)
			if err != nil {
				t.Fatal(err)
			}
			if done, err := l.Commit(ctx, files); err != nil || !done {
				t.Fatalf("commit: %v, %v", done, err)
			}
			want += exportRows(t, u, filepath.Join(dir, fmt.Sprintf("%s-%d.arrows", id, seal)))
			exportLines(t, u, filepath.Join(dir, fmt.Sprintf("%s-%d.lines", id, seal)))
		}
	}
	if got := len(gotRows(t, l)); got != want || want == 0 {
		t.Errorf("%d rows in the table, %d exported", got, want)
	}
}

// exportRows writes the rows of a unit's snapshot as granary export does, and returns their
// number.
func exportRows(t *testing.T, u Unit, name string) int {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	opts := columnstore.ScanOptions{Form: columnstore.Plain, Elements: profile.FunctionNames}
	schema, err := u.Table.RecordSchema(u.Snapshot, opts)
	if err != nil {
		t.Fatal(err)
	}
	w, n := export.NewArrowWriter(f, schema, nil), 0
	for rec, err := range u.Table.Scan(context.Background(), u.Snapshot, opts) {
		if err == nil {
			n += int(rec.NumRows())
			err = w.Write(rec)
			rec.Release()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// exportLines writes the number of rows of a unit's snapshot and the sum of their values by the function and the line that their leaf
// is in, as JSON.
func exportLines(t *testing.T, u Unit, name string) {
	t.Helper()
	line := func(dst []string, _ uuid.UUID, record []byte) []string {
		l, err := profile.DecodeLocation(record)
		if err != nil {
			t.Error(err)
			return dst
		}
		return append(dst, fmt.Sprintf("%s:%d", l.Frames[0].Function, l.Frames[0].Line))
	}
	sums := map[string][2]int64{}
	opts := columnstore.ScanOptions{Form: columnstore.Plain, Elements: line, Columns: []string{profile.ColumnStacktrace, profile.ColumnValue}}
	for rec, err := range u.Table.Scan(t.Context(), u.Snapshot, opts) {
		if err != nil {
			t.Fatal(err)
		}
		stacks, values := rec.Column(0).(*array14.List), rec.Column(1).(*array14.Int64)
		for row := range int(rec.NumRows()) {
			if from, to := stacks.ValueOffsets(row); from < to {
				key := strings.Clone(stacks.ListValues().(*array14.String).Value(int(from)))
				sums[key] = [2]int64{sums[key][0] + 1, sums[key][1] + values.Value(row)}
			}
		}
		rec.Release()
	}
	data, err := json.Marshal(sums)
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
