package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// TestMergeHelp runs the examples of merge --help that hand the result to another command, and
// checks the text's comparison: merge keeps the types of any profile, pprof the types that all
// profiles have.
func TestMergeHelp(t *testing.T) {
	tool := newPprofTool(t)
	dir := t.TempDir()
	t.Chdir(dir)
	first, second := filepath.Join(dir, "heaps", "1.pb.gz"), filepath.Join(dir, "2.pb.gz")
	file(t, first, newProfile("a:count b:bytes", sample{"main", []int64{1, 2}, nil}))
	file(t, filepath.Join(dir, "heaps", "2.pb.gz"), newProfile("a:count b:bytes", sample{"main", []int64{10, 20}, nil}))
	other := newProfile("b:bytes c:count", sample{"main", []int64{40, 50}, nil})
	other.PeriodType = &pprof.ValueType{Type: "a", Unit: "count"} // a kind has one period type
	file(t, second, other)

	help := granary(t, "merge", "--help").stdout
	for _, example := range []string{
		"granary merge -o heap.pb.gz heaps/ && go tool pprof -top heap.pb.gz",
		"granary merge -o - heaps/ | granary top -",
	} {
		if !strings.Contains(help, "  "+example+"\n") {
			t.Errorf("merge --help lacks %q", example)
		}
	}
	if r := granary(t, "merge", "-o", "heap.pb.gz", "heaps/"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if top := tool.run(t, "-top", filepath.Join(dir, "heap.pb.gz")); !bytes.Contains(top, []byte("main")) {
		t.Errorf("pprof shows %s", top)
	}
	piped := granary(t, "merge", "-o", "-", "heaps/")
	withStdin(t, []byte(piped.stdout))
	if r := granary(t, "top", "-"); r.code != 0 || !strings.Contains(r.stdout, "main") {
		t.Errorf("top of the pipe: %+v", r)
	}
	types := func(data []byte) (names string) {
		for _, s := range mustParse(t, data, "merged").SampleType {
			names += s.Type + " "
		}
		return names
	}
	if r := granary(t, "merge", "-o", "-", first, second); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "--sum-kinds") {
		t.Errorf("merge of two lists of types: %+v", r)
	}
	ours := types([]byte(granary(t, "merge", "-o", "-", "--sum-kinds", first, second).stdout))
	theirs := types(tool.run(t, "-proto", first, second))
	if ours != "a b c " || theirs != "b " {
		t.Errorf("merge has the types %q, pprof %q", ours, theirs)
	}
}

// withStdin makes data the standard input of the test.
func withStdin(t *testing.T, data []byte) {
	t.Helper()
	f, err := os.Open(write(t, filepath.Join(t.TempDir(), "stdin"), data))
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = f
	t.Cleanup(func() { os.Stdin = before; f.Close() })
}
