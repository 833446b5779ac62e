package script

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func verbs(*testing.T) map[string]Verb {
	return map[string]Verb{
		"say": func(c *Command) error {
			end, gap := "", ""
			if c.Has("loud") {
				end = "!"
			}
			if c.Has("gap") {
				gap = "\n"
			}
			times := c.Int("times", 1)
			for i, line := range c.Input {
				if i > 0 {
					c.Printf("%s", gap)
				}
				for range times {
					c.Printf("%s%s\n", line, end)
				}
			}
			return nil
		},
		"fail": func(c *Command) error {
			text := c.Text("because", "no reason")
			for _, pair := range c.Rest() {
				text += fmt.Sprintf(", %s=%s", pair[0], pair[1])
			}
			return fmt.Errorf("%s", text)
		},
	}
}

func TestRun(t *testing.T) { Run(t, verbs) }

// child runs TestRun of this binary over one script and returns the script
// afterwards, the output, and whether the test passed.
func child(t *testing.T, script string, args ...string) (after, out string, passed bool) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "testdata", "script", "one.txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"-test.run", "^TestRun$"}, args...)...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	rewritten, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(rewritten), string(text), err == nil
}

// TestRun_Fails has scripts that must fail, each for its own reason.
func TestRun_Fails(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"other output", "say\nhello\n----\ngoodbye\n", "hello"},
		{"unknown verb", "shout\n----\n", `unknown verb "shout"`},
		{"unknown argument", "say tmes=2\nhello\n----\nhello\n", `say has no argument ["tmes"]`},
		{"repeated argument", "say times=1 times=2\nhello\n----\nhello\n", "argument times stands twice"},
		{"not a number", "say times=two\nhello\n----\nhello\n", "times=two is no whole number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			after, out, passed := child(t, test.script)
			if passed || !strings.Contains(out, test.want) {
				t.Errorf("passed=%v, want a failure with %q:\n%s", passed, test.want, out)
			}
			if after != test.script {
				t.Errorf("the script changed without -update:\n%s", after)
			}
		})
	}
}

// TestRun_Update rewrites the output of commands and leaves the rest.
func TestRun_Update(t *testing.T) {
	if flag.Lookup("update") == nil {
		t.Fatal("there is no flag -update")
	}
	const old = "# Greetings.\nsay times=2\nhello\n----\ngoodbye\n\nfail\n----\n"
	const want = "# Greetings.\nsay times=2\nhello\n----\nhello\nhello\n\nfail\n----\nerror: no reason\n"
	after, out, passed := child(t, old, "-update")
	if diff := cmp.Diff(want, after); diff != "" || !passed {
		t.Errorf("passed=%v, after -update (-want +got):\n%s\n%s", passed, diff, out)
	}
}
