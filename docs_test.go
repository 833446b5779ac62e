package granary

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLoaderCommandIsRun holds the loader command of CONTRIBUTING.md to the one that .ci/long
// runs: with fewer rows all fit into the budget, and the test fails.
func TestLoaderCommandIsRun(t *testing.T) {
	flags := regexp.MustCompile(`-run TestMemoryBudget -v (-loader\.rows \d+ -loader\.budget \d+)`)
	run, told := flags.FindStringSubmatch(readFile(t, ".ci/long")), flags.FindStringSubmatch(readFile(t, "CONTRIBUTING.md"))
	if run == nil || told == nil || run[1] != told[1] {
		t.Errorf("CONTRIBUTING.md has the flags %q, .ci/long %q", told, run)
	}
}

// TestReadmeHasNoStrayTabs: a tab is an indentation of Go code.
func TestReadmeHasNoStrayTabs(t *testing.T) {
	stray := regexp.MustCompile(`(?m)^.*[^\t\n].*\t.*$`)
	for _, line := range stray.FindAllString(readFile(t, "README.md"), -1) {
		t.Errorf("README.md has a tab in %q", line)
	}
	rest := regexp.MustCompile("(?s)```go\n.*?```").ReplaceAllString(readFile(t, "README.md"), "")
	if strings.Contains(rest, "\t") {
		t.Error("README.md has a tab outside of its Go code")
	}
}

// TestCommentsKeepTheirBrackets: go doc takes "[binary]" for a link to encoding/binary, and
// drops the brackets.
func TestCommentsKeepTheirBrackets(t *testing.T) {
	link := regexp.MustCompile(`(?m)^\s*//.*"\[\w+\]"`)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			for _, line := range link.FindAllString(readFile(t, path), -1) {
				t.Errorf("%s: %s", path, line)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	out, err := exec.Command("go", "doc", "./profile", "FunctionNames").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"columnstore.ScanOptions.Elements", `"[libc.so.6]"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("go doc profile FunctionNames does not show %s:\n%s", want, out)
		}
	}
}

// TestExamplesSumOneType: a sum over the rows of profiles needs a condition on the sample type.
func TestExamplesSumOneType(t *testing.T) {
	for _, page := range []string{"README.md", "docs/tutorial.md", "docs/tuning.md", "compat/duckdb/doc.go", "compat/duckdb/example_test.go"} {
		for _, query := range regexp.MustCompile("(?s)SELECT [^`\"]*?sum\\(value\\)[^`\"]*").FindAllString(readFile(t, page), -1) {
			if !strings.Contains(query, "sample_type") {
				t.Errorf("%s sums values of all types: %s", page, query)
			}
		}
	}
}
