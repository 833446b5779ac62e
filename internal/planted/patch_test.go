package planted

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const clockSource = `package clock

import "time"

// Clock counts.
type Clock struct {
	at    time.Time // now
	ticks int
}

// Tick goes on.
func (c *Clock) Tick() {
	c.ticks++
	// A tick is a second.
	c.at = c.at.Add(time.Second)
}

// Tock goes on.
func (c *Clock) Tock() {
	c.ticks++
	c.at = c.at.Add(2 * time.Second)
}
`

const clockBug = `# A tick does not count.
# It still takes its time.
found by: TestTicks
--- a/clock/clock.go
+++ b/clock/clock.go
@@ -20,7 +20,6 @@

 // Tick goes on.
 func (c *Clock) Tick() {
-	c.ticks++
 	// A tick is a second.
 	c.at = c.at.Add(time.Second)
 }
`

// newModule writes a module, and a folder of planted bugs in its package clock.
func newModule(t *testing.T, files map[string]string) *tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return &tree{root: root, pkg: "clock"}
}

const bugFile = "clock/testdata/planted/uncounted.diff"

// planted returns the file of a change.
func (tr *tree) planted(t *testing.T, bug, file string) (string, error) {
	t.Helper()
	b, err := readBug(filepath.Join(tr.root, bug))
	if err != nil {
		return "", err
	}
	changes, err := tr.plant(b)
	if err != nil {
		return "", err
	}
	c := changes[file]
	return strings.Join(c.apply(c.lines), "\n") + "\n", nil
}

// TestPlant applies a bug to sources with irrelevant changes.
func TestPlant(t *testing.T) {
	for _, test := range []struct{ name, old, new string }{
		{"as it was", "", ""},
		{"other comments", "// Tick goes on.", "// Tick moves the clock\n// forward."},
		{"a comment fewer", "	// A tick is a second.\n", ""},
		{"another comment behind code", "	c.ticks++\n	// A", "	c.ticks++ // again\n	// A"},
		{"a blank line", "	c.ticks++\n	// A", "	c.ticks++\n\n	// A"},
		{"lines before", "type Clock", "type second int\n\ntype Clock"},
		{"another indent", "	c.ticks++\n	// A", "	  c . ticks ++\n	// A"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := strings.Replace(clockSource, test.old, test.new, 1)
			tr := newModule(t, map[string]string{"clock/clock.go": source, bugFile: clockBug})
			got, err := tr.planted(t, bugFile, "clock/clock.go")
			if err != nil {
				t.Fatal(err)
			}
			at := strings.Index(source, "Tick() {")
			line := at + strings.Index(source[at:], "\n") + 1
			want := source[:line] + source[line+strings.Index(source[line:], "\n")+1:]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPlant_Errors applies bugs that cannot be planted.
func TestPlant_Errors(t *testing.T) {
	for _, test := range []struct{ name, source, bug, want string }{
		{"code changed", strings.Replace(clockSource, "c.ticks++\n	// A", "c.ticks += 1\n	// A", 1), clockBug, "does not apply any more"},
		{"context changed", strings.Replace(clockSource, "time.Second)\n}\n\n// Tock", "time.Minute)\n}\n\n// Tock", 1), clockBug, "try -planted.update"},
		{"code twice", clockSource + clockSource[strings.Index(clockSource, "// Tick"):], clockBug, "2 times, want once"},
		{"no file", "", strings.ReplaceAll(clockBug, "clock.go", "watch.go"), "watch.go"},
		{"no story", clockSource, clockBug[strings.Index(clockBug, "found"):], "is no story"},
		{"no test", clockSource, strings.Replace(clockBug, "found by: TestTicks\n", "", 1), "does not name a test"},
		{"no hunk", clockSource, clockBug[:strings.Index(clockBug, "@@")], "there is no hunk"},
		{"two files in a header", clockSource, strings.Replace(clockBug, "+++ b/clock/clock.go", "+++ b/clock/other.go", 1), "does not follow"},
		{"text in a hunk", clockSource, clockBug + "hello\n", `"hello" is no line of a hunk`},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := newModule(t, map[string]string{"clock/clock.go": test.source, bugFile: test.bug})
			if _, err := tr.planted(t, bugFile, "clock/clock.go"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestUpdate rewrites a bug from changed sources. The rewritten bug makes the same change.
func TestUpdate(t *testing.T) {
	moved := strings.Replace(clockSource, "c.at.Add(time.Second)", "c.at.Add(1 * time.Second)", 1)
	wantMoved := `# A tick does not count.
# It still takes its time.
found by: TestTicks
--- a/FILE
+++ b/FILE
@@ -10,7 +10,6 @@
 
 // Tick goes on.
 func (c *Clock) Tick() {
-	c.ticks++
 	// A tick is a second.
 	c.at = c.at.Add(1 * time.Second)
 }
`
	for _, test := range []struct {
		name, want string
		files      map[string]string
	}{
		{"changed context", "clock/clock.go", map[string]string{"clock/clock.go": moved}},
		{"moved to another file", "clock/tick.go", map[string]string{"clock/clock.go": "package clock\n", "clock/tick.go": moved}},
		{"moved to another package", "watch/watch.go", map[string]string{"watch/watch.go": moved, "watch/nested/go.mod": "", "watch/nested/a.go": moved, "watch/a_test.go": moved}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.files[bugFile], test.files["go.mod"] = clockBug, "module m\n"
			tr := newModule(t, test.files)
			path := filepath.Join(tr.root, bugFile)
			for range 2 { // the second time nothing changes
				if err := tr.update(path); err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.ReplaceAll(wantMoved, "FILE", test.want), string(got)); diff != "" {
					t.Error(diff)
				}
			}
			if _, err := tr.planted(t, bugFile, test.want); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUpdate_Errors checks that an update leaves a bug unchanged if its place is missing or
// ambiguous.
func TestUpdate_Errors(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"gone":         {"clock/clock.go": "package clock\n"},
		"in two files": {"clock/a.go": clockSource, "clock/b.go": clockSource},
	} {
		t.Run(name, func(t *testing.T) {
			files[bugFile] = clockBug
			tr := newModule(t, files)
			path := filepath.Join(tr.root, bugFile)
			if err := tr.update(path); err == nil {
				t.Error("no error")
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != clockBug {
				t.Errorf("it was written: %v\n%s", err, got)
			}
		})
	}
}

// TestDiff writes and reads edits. The result is the same edit, and the diff has enough context
// to distinguish equal places.
func TestDiff(t *testing.T) {
	lines := strings.Split("a b c a b c d e f g h i j k l m n o p q r a b c a b", " ")
	for name, e := range map[string]*edit{
		"first":         {map[int]bool{0: true}, map[int][]string{0: {"x"}}},
		"before all":    {map[int]bool{}, map[int][]string{0: {"x", "y"}}},
		"behind all":    {map[int]bool{}, map[int][]string{26: {"x"}}},
		"last":          {map[int]bool{25: true}, map[int][]string{}},
		"near":          {map[int]bool{4: true, 9: true}, map[int][]string{7: {"x"}}},
		"far":           {map[int]bool{4: true}, map[int][]string{18: {"x"}}},
		"equal places":  {map[int]bool{1: true}, map[int][]string{22: {"x"}}},
		"side by side":  {map[int]bool{6: true, 7: true}, map[int][]string{6: {"x"}, 8: {"y"}}},
		"six in common": {map[int]bool{6: true, 13: true}, map[int][]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := change{newSource(strings.Join(lines, "\n") + "\n"), e}
			want := strings.Join(e.apply(lines), " ")
			hunks, err := parseDiff(strings.Split(strings.TrimSuffix(c.located("f.go"), "\n"), "\n"))
			if err != nil {
				t.Fatal(err)
			}
			again := newEdit()
			for _, h := range hunks {
				if err := h.applyTo(c.source, again, false); err != nil {
					t.Fatalf("%v in\n%s", err, c.located("f.go"))
				}
			}
			if got := strings.Join(again.apply(lines), " "); got != want {
				t.Errorf("got  %s\nwant %s\n%s", got, want, c.located("f.go"))
			}
		})
	}
}
