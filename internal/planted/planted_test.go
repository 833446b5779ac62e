package planted

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
