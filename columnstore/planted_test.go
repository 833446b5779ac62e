//go:build planted

package columnstore

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// planted is a bug: an edit of shipped code that the simulator must find. The
// old text must be there exactly once.
type planted struct {
	name     string
	file     string // below the root of the module
	old, new string
}

var plantedBugs = []planted{
	{
		"a part is published before its commit id", "txn/log.go",
		"l.root.Store(&Root[R]{Commit: id, State: next})", "l.root.Store(&Root[R]{Commit: id - 1, State: next})",
	},
	{
		"a part inserted during a split is missing from a child", "granule/granule.go",
		"if part := slice.Within(s, child.lo, child.hi); part.Rows() > 0 {", "if part := slice.Within(s, child.lo, child.hi); part.Rows() > 0 && i == 0 {",
	},
	{
		"parts inserted during a rewrite are forgotten", "granule/granule.go",
		"since = append(since, c.slice)", "since = since[:0]",
	},
	{
		"no bounds filter after a split", "granule/granule.go",
		"if part := slice.Within(s, child.lo, child.hi); part.Rows() > 0 {", "if part := slice; part.Rows() > 0 {",
	},
	{
		"a part that meets a split is not routed to the children", "columnstore/root.go",
		"if hi != p.hi {", "if false {",
	},
	{
		"a row range is off by one at a bound", "granule/part.go",
		".appendKey(nil, 0)) >= bound", ".appendKey(nil, 0)) > bound",
	},
	{
		"the first granule of a bucket is bounded from below", "columnstore/root.go",
		"return granule.New(e.schema.BucketBounds(p.bucket))", "_, bucketHi := e.schema.BucketBounds(p.bucket)\n\treturn granule.New(key, bucketHi)",
	},
	{
		"an abort leaves its parts", "columnstore/tx.go",
		"	tx.tx.Abort()\n", "	_, _ = tx.Commit()\n",
	},
	{
		"an insert shows its columns before it commits", "columnstore/tx.go",
		"	tx.pieces = append(tx.pieces, pieces...)\n",
		"	tx.pieces = append(tx.pieces, pieces...)\n	for _, b := range tx.store.log.Root().State.table(t.ordinal).buckets.All() {\n		for _, name := range dynamicNames(t.schema, columns, []int32{0}) {\n			if b.columns != nil {\n				b.columns[name] = true\n			}\n		}\n	}\n",
	},
	{
		"a rewrite is published over a changed granule", "granule/granule.go",
		"if g.lo != old.lo || g.hi != old.hi || g.base != old.base {", "if g.base != old.base {\n\t\treturn children, true\n\t}\n\tif g.lo != old.lo || g.hi != old.hi {",
	},
	{
		"a rewrite starts from a root of before its merge", "columnstore/maintain.go",
		"	ok := s.log.Rewrite(func(current *root) (*root, bool) {\n", "	ok := s.log.Rewrite(func(*root) (*root, bool) {\n		current := stale\n",
	},
	{
		"a snapshot follows the newest root", "columnstore/store.go",
		"	return r.table(t.ordinal), nil", "	r = t.store.log.Root().State\n	return r.table(t.ordinal), nil",
	},
	{
		"a transaction over two tables is published in two steps", "columnstore/tx.go",
		"		next = next.with(t.ordinal, edit.done())\n", "		next = current.with(t.ordinal, edit.done())\n",
	},
	{
		"a split loses the rows at its cut", "granule/rewrite.go",
		"		lo, bound = hi, child.hi\n", "		lo, bound = hi+1, child.hi\n",
	},
	{
		"the last granule of a split has no upper bound", "granule/rewrite.go",
		"child := New(bound, g.hi)", `child := New(bound, "")`,
	},
	{
		"retention drops a bucket too much", "columnstore/root.go",
		"floor := e.schema.BucketStart(e.state.newest - retention)", "floor := e.schema.BucketStart(e.state.newest-retention) + e.schema.BucketWidth()",
	},
	{
		"a commit brings back what retention dropped", "columnstore/tx.go",
		"start < edit.state.floor {", "false {",
	},
	{
		"a merge takes equal rows once", "granule/merge.go",
		"		order = append(order, rowRef{int32(leaf), int32(r.row)})\n",
		"		if n := len(order); n == 0 || string(keyOf(frames, order[n-1])) != string(r.key) {\n			order = append(order, rowRef{int32(leaf), int32(r.row)})\n		}\n",
	},
}

// more edits that a bug needs besides its own.
var plantedMore = map[string][2]string{
	"a rewrite starts from a root of before its merge": {
		"	children := granule.Rewrite(t.schema, g, s.opts.GranuleRows)\n",
		"	stale := s.log.Root().State\n	children := granule.Rewrite(t.schema, g, s.opts.GranuleRows)\n",
	},
}

// TestPlantedBugs builds the package with each bug in turn and runs the
// simulator until it finds it, at most 10,000 seeds.
func TestPlantedBugs(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, bug := range plantedBugs {
		t.Run(bug.name, func(t *testing.T) {
			binary := buildWith(t, root, bug)
			cmd := exec.Command(binary, "-test.run", "TestSimulation$", "-sim.seeds", "10000")
			cmd.Dir = filepath.Join(root, "columnstore")
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("10,000 histories did not find it:\n%s", out)
			}
			seed := regexp.MustCompile(`seed (\d+)`).FindSubmatch(out)
			if seed == nil {
				t.Fatalf("the simulator failed without a seed:\n%s", out)
			}
			t.Logf("found at seed %s", seed[1])
		})
	}
}

// buildWith compiles the tests of this package with a bug planted by an
// overlay: the files themselves stay as they are.
func buildWith(t *testing.T, root string, bug planted) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(root, filepath.FromSlash(bug.file))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edits := [][2]string{{bug.old, bug.new}}
	if more, ok := plantedMore[bug.name]; ok {
		edits = append(edits, more)
	}
	edited := string(text)
	for _, e := range edits {
		if n := strings.Count(edited, e[0]); n != 1 {
			t.Fatalf("%s has the text to edit %d times, want once:\n%s", bug.file, n, e[0])
		}
		edited = strings.Replace(edited, e[0], e[1], 1)
	}
	replacement := filepath.Join(dir, "edited.go")
	if err := os.WriteFile(replacement, []byte(edited), 0o666); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: replacement}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "columnstore.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlayFile, "-o", binary, "./columnstore")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the planted bug does not build: %v\n%s", err, out)
	}
	return binary
}
