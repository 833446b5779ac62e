package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// seedOf and saidOf match the seed and the message in the output of a failed test.
var (
	seedOf = regexp.MustCompile(`\bseed (\d+)`)
	saidOf = regexp.MustCompile(`_test\.go:\d+: (.*)`)
)

// find runs the test that must find the bug with the faulty binary, where it must fail, and
// with the sound one, where it must pass.
func (s *Suite) find(t *testing.T, b *bug, binary, sound string) {
	t.Helper()
	out, err := runTest(binary, b.by, s.Args)
	said := saidOf.FindSubmatch(out)
	if err == nil || said == nil {
		t.Fatalf("%s did not find it: %v\n%s", b.by, err, out)
	}
	seed := "1"
	if slices.Contains(s.Drawn, b.by) {
		m := seedOf.FindSubmatch(out)
		if m == nil {
			t.Fatalf("%s failed without a seed:\n%s", b.by, out)
		}
		seed = string(m[1])
	}
	t.Logf("%s found it (seed %s): %.150s", b.by, seed, said[1])
	var again []string
	if s.Again != nil {
		again = s.Again(seed)
	}
	if out, err := runTest(sound, b.by, again); err != nil {
		t.Errorf("the same fails without the bug:\n%s", out)
	}
}

// runTest runs one test of a binary in the folder of its package.
func runTest(binary, name string, args []string) ([]byte, error) {
	return exec.Command(binary, append([]string{"-test.timeout", "2m", "-test.run", "^" + name + "$"}, args...)...).CombinedOutput()
}

// build compiles the tests of the package. An overlay replaces the changed files.
func (tr *tree) build(t *testing.T, changes map[string]change) (binary string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for file, c := range changes {
		changed := filepath.Join(dir, fmt.Sprintf("changed%d.go", len(replace)))
		replace[filepath.Join(tr.root, filepath.FromSlash(file))] = changed
		if err := os.WriteFile(changed, []byte(strings.Join(c.apply(c.lines), "\n")+"\n"), 0o666); err != nil {
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
	// Omitting symbols halves the time of the linker. Omitting inlining reduces the time of the
	// compiler to two thirds.
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-gcflags=-l", "-overlay", overlayFile, "-o", binary, "./"+filepath.ToSlash(tr.pkg))
	build.Dir = tr.root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the planted bug does not build: %v\n%s", err, out)
	}
	return binary
}
