package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// binaries are the tests of a package.
type binaries struct {
	many  string          // with many bugs
	has   map[string]bool // names of these bugs
	sound string          // without bugs, for the other bugs
}

// buildTogether builds one binary with all bugs that can be in it.
func (tr *tree) buildTogether(t *testing.T, files []string) *binaries {
	t.Helper()
	bs := &binaries{has: map[string]bool{}}
	g := &together{map[string]*manyFile{}}
	for _, file := range files {
		// A bug that cannot be read or planted fails by itself later.
		if b, err := readBug(file); err == nil {
			if changes, err := tr.plant(b); err == nil && g.add(bugName(file), changes) {
				bs.has[bugName(file)] = true
			}
		}
	}
	if len(bs.has) > 0 {
		var out []byte
		var err error
		if bs.many, out, err = tr.build(t, g.texts()); err != nil {
			t.Logf("the bugs do not build together, and are built one by one: %v\n%s", err, out)
			clear(bs.has)
		}
	}
	if len(bs.has) < len(files) {
		bs.sound = tr.buildOne(t, nil)
	}
	t.Logf("%d of %d bugs are in one binary", len(bs.has), len(files))
	return bs
}

// buildOne builds a binary with one bug's changes. It omits inlining, which reduces the compiler's time to
// two thirds.
func (tr *tree) buildOne(t *testing.T, changes map[string]change) (binary string) {
	t.Helper()
	texts := map[string]string{}
	for file, c := range changes {
		texts[file] = strings.Join(c.apply(c.lines), "\n") + "\n"
	}
	binary, out, err := tr.build(t, texts, "-gcflags=-l")
	if err != nil {
		t.Fatalf("the planted bug does not build: %v\n%s", err, out)
	}
	return binary
}

// build compiles the package's tests. An overlay replaces and adds files.
func (tr *tree) build(t *testing.T, texts map[string]string, flags ...string) (binary string, out []byte, err error) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for file, text := range texts {
		changed := filepath.Join(dir, fmt.Sprintf("changed%d.go", len(replace)))
		replace[filepath.Join(tr.root, filepath.FromSlash(file))] = changed
		if err := os.WriteFile(changed, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "bug.test")
	// Omitting symbols halves the linker's time.
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlayFile, "-o", binary}, flags...)
	build := exec.Command("go", append(args, "./"+filepath.ToSlash(tr.pkg))...)
	build.Dir = tr.root
	out, err = build.CombinedOutput()
	return binary, out, err
}
