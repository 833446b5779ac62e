package planted

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// seedOf and saidOf match the seed and the message in a failed test's output.
var (
	seedOf = regexp.MustCompile(`\bseed (\d+)`)
	saidOf = regexp.MustCompile(`_test\.go:\d+: (.*)`)
)

// run is a binary and, if it has many bugs, the chosen one.
type run struct{ binary, bug string }

// search is a suite's runs.
type search struct {
	Suite
	lock sync.Mutex
	runs map[string]func() ([]byte, error) // runs without bugs
}

// find runs the test that must find the bug: with the bug, where it must fail, and without it, where it
// must pass.
func (s *search) find(t *testing.T, b *bug, faulty, sound run) {
	t.Helper()
	out, err := faulty.test(b.by, s.Args)
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
	if out, err := s.once(sound, b.by, again)(); err != nil {
		t.Errorf("the same fails without the bug:\n%s", out)
	}
}

// once returns a function that runs a test the first time that it is called. Bugs with the same test share
// the run without a bug.
func (s *search) once(r run, name string, args []string) func() ([]byte, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	key := strings.Join(append([]string{r.binary, name}, args...), " ")
	if s.runs[key] == nil {
		s.runs[key] = sync.OnceValues(func() ([]byte, error) { return r.test(name, args) })
	}
	return s.runs[key]
}

// test runs one test in its package's folder.
func (r run) test(name string, args []string) ([]byte, error) {
	cmd := exec.Command(r.binary, append([]string{"-test.timeout", "10m", "-test.run", "^" + name + "$"}, args...)...)
	cmd.Env = append(os.Environ(), chosenBug+"="+r.bug, "GRANARY_SLOW=1") // a bug can be found by a test that effort.Slow leaves out
	return cmd.CombinedOutput()
}
