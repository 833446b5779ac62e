package planted

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/effort"
)

const ticksTest = `package clock

import (
	"testing"
	"time"
)

func TestTicks(t *testing.T) {
	c := Clock{at: time.Unix(0, 0)}
	c.Tick()
	if c.ticks != 1 {
		t.Fatalf("seed 7: %d ticks", c.ticks)
	}
}

func TestNothing(*testing.T) {}
`

// TestRun builds a package with a bug. The suite passes if the named test finds the bug,
// and fails if it does not, or if the bug does not build.
func TestRun(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"found", "", "", "TestTicks found it (seed 7)"},
		{"not found", "found by: TestTicks", "found by: TestNothing", "TestNothing did not find it"},
		{"does not build", "-	c.ticks++", "-	c.ticks++\n+	c.tocks++", "does not build"},
		{"does not apply", "-	c.ticks++", "-	c.tocks++", "does not apply any more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tr := newModule(t, map[string]string{
				"go.mod": "module m\n\ngo 1.26\n", "clock/clock.go": clockSource, "clock/clock_test.go": ticksTest,
				bugFile: strings.Replace(clockBug, test.old, test.new, 1),
			})
			out, err := runSuite(t, tr)
			if (err == nil) != (test.name == "found") || !strings.Contains(out, test.want) {
				t.Errorf("error %v, want a message with %q:\n%s", err, test.want, out)
			}
		})
	}
}

const formsSource = `package clock

// Sum has several parameters of one type, a blank one and a variadic one.
func Sum(a, b int, _ string, more ...int) (n int, err error) {
	n = a + b
	for _, m := range more {
		n += m
	}
	return n, nil
}

// List has a parameter of type.
type List[T any] struct{ of []T }

func (l *List[T]) Add(values ...T) { l.of = append(l.of, values...) }

func (List[T]) Blank(int) int { return 1 }

func Last[T any, U ~int](l *List[T], _ U) (last T) {
	return l.of[len(l.of)-1]
}

var safe = func(f func()) (failed bool) {
	defer caught(&failed)
	f()
	return false
}

func caught(failed *bool) {
	if recover() != nil {
		*failed = true
	}
}
`

const formsTest = `package clock

import "testing"

func TestForms(t *testing.T) {
	if n, err := Sum(1, 2, "", 3, 4); n != 10 || err != nil {
		t.Fatal("sum", n, err)
	}
	var l List[string]
	l.Add("a", "b")
	if len(l.of) != 2 || l.Blank(0) != 1 {
		t.Fatal("list", l)
	}
	if last := Last(&l, 1); last != "b" {
		t.Fatal("last", last)
	}
	if !safe(func() { panic(1) }) {
		t.Fatal("safe")
	}
}
`

// TestRun_Together plants bugs in functions of many forms. Bugs that change bodies alone are in one
// binary, in which each is found, also two in one function.
func TestRun_Together(t *testing.T) {
	effort.Slow(t)
	bugs := map[string]string{ // by name, a line and the one that replaces it
		"sum-of-first": "	n = a + b|	n = a",
		"sum-skips":    "		n += m|		n -= m",
		"added-once":   "func (l *List[T]) Add(values ...T) { l.of = append(l.of, values...) }|func (l *List[T]) Add(values ...T) { l.of = append(l.of, values[0]) }",
		"blank":        "func (List[T]) Blank(int) int { return 1 }|func (List[T]) Blank(int) int { return 2 }",
		"last":         "	return l.of[len(l.of)-1]|	return l.of[0]",
		"uncaught":     "	if recover() != nil {|	if recover() == nil {",                                    // calls recover
		"no-function":  "type List[T any] struct{ of []T }|type List[T any] struct{ of []T; at struct{} }", // is not found
	}
	files := map[string]string{"go.mod": "module m\n\ngo 1.26\n", "clock/forms.go": formsSource, "clock/forms_test.go": formsTest}
	for name, change := range bugs {
		was, is, _ := strings.Cut(change, "|")
		files["clock/testdata/planted/"+name+".diff"] = "# It is wrong.\nfound by: TestForms\n--- a/clock/forms.go\n+++ b/clock/forms.go\n@@ -1 +1 @@\n-" + was + "\n+" + is + "\n"
	}
	out, err := runSuite(t, newModule(t, files))
	if err == nil || !strings.Contains(out, "5 of 7 bugs are in one binary") {
		t.Errorf("error %v:\n%s", err, out)
	}
	for name := range bugs {
		want := "--- PASS: TestSuite/" + name
		if name == "no-function" {
			want = "--- FAIL: TestSuite/" + name
		}
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	for name, want := range map[string]string{"sum-of-first": "sum 8", "sum-skips": "sum -4", "added-once": "list", "blank": "list", "last": "last a", "uncaught": "safe"} {
		if !strings.Contains(out, "TestForms found it (seed 1): "+want) {
			t.Errorf("%s: there is no %q:\n%s", name, want, out)
		}
	}
}

// runSuite runs this binary's TestSuite in the package of a module.
func runSuite(t *testing.T, tr *tree) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestSuite$", "-test.v")
	cmd.Dir = filepath.Join(tr.root, "clock")
	cmd.Env = append(os.Environ(), "GOWORK=off", "PLANTED_SUITE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestSuite is run by TestRun in another module.
func TestSuite(t *testing.T) {
	if os.Getenv("PLANTED_SUITE") == "" {
		t.Skip("TestRun runs it")
	}
	Run(t, Suite{Drawn: []string{"TestTicks"}})
}
