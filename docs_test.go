package granary

import (
	"encoding/json"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// figure is a marked figure of a page: the number before a comment with the key of a target in
// bench/report/full.json, as in 18.6 <!-- heap-1m -->. The peer's figure is marked with
// <!-- heap-1m peer -->, the ratio of both with <!-- heap-1m ratio -->.
var figure = regexp.MustCompile(`([\d.,]+)[^\d\n]{0,3}<!-- ([a-z0-9-]+)( peer| ratio)? -->`)

// TestFiguresAreMeasured holds the marked figures of README.md and docs to the measurements in
// bench/report/full.json: the figure is what was measured, rounded to as many decimals as it has.
func TestFiguresAreMeasured(t *testing.T) {
	var rows []struct {
		Key               string
		Ours, Peer, Ratio *float64
	}
	if err := json.Unmarshal([]byte(readFile(t, "bench/report/full.json")), &rows); err != nil {
		t.Fatal(err)
	}
	measured := map[string]*float64{}
	for _, r := range rows {
		measured[r.Key], measured[r.Key+" peer"], measured[r.Key+" ratio"] = r.Ours, r.Peer, r.Ratio
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md") {
		text := readFile(t, page)
		marked := figure.FindAllStringSubmatch(text, -1)
		if comments := strings.Count(text, "<!--"); comments != len(marked) {
			t.Errorf("%s has %d comments, and %d of them behind a figure", page, comments, len(marked))
		}
		if page == "README.md" && len(marked) < 15 {
			t.Errorf("%s has %d marked figures: this test must be blind", page, len(marked))
		}
		for _, m := range marked {
			key, digits := m[2]+m[3], strings.ReplaceAll(m[1], ",", "")
			_, decimals, _ := strings.Cut(digits, ".")
			if v := measured[key]; v == nil {
				t.Errorf("%s has %s of %s, which was not measured", page, m[1], key)
			} else if want := strconv.FormatFloat(*v, 'f', len(decimals), 64); digits != want {
				t.Errorf("%s has %s of %s, measured was %s", page, m[1], key, want)
			}
		}
	}
}

// TestLoaderCommandIsRun holds the loader commands of CONTRIBUTING.md and RELIABILITY.md to the
// one that CI runs: with fewer rows all fit into the budget, and the test fails.
func TestLoaderCommandIsRun(t *testing.T) {
	flags := regexp.MustCompile(`-run TestMemoryBudget -v (-loader\.rows \d+ -loader\.budget \d+)`)
	var run []string
	scripts, err := filepath.Glob(".ci/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		if m := flags.FindStringSubmatch(readFile(t, name)); m != nil && run == nil {
			run = m
		}
	}
	for _, page := range []string{"CONTRIBUTING.md", "RELIABILITY.md"} {
		told := flags.FindStringSubmatch(readFile(t, page))
		if run == nil || told == nil || run[1] != told[1] {
			t.Errorf("%s has the flags %q, CI %q", page, told, run)
		}
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

// TestShellLinesHaveTheirInputs holds the lines of README.md for a shell to inputs that are there: in the clone, or
// made by an earlier line.
func TestShellLinesHaveTheirInputs(t *testing.T) {
	_, section, _ := strings.Cut(readFile(t, "README.md"), "## From a shell\n")
	section, _, _ = strings.Cut(section, "\n## ")
	made := regexp.MustCompile(`--(?:profiles|trace|db) (\S+)`)
	input := regexp.MustCompile(` ([\w.*-]+)(?:/\S*|\.pb\.gz|\.trace)(?: |$)`)
	there, inputs := map[string]bool{}, 0
	for line := range strings.Lines(section) {
		line, isCommand := strings.CutPrefix(line, "    ")
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
		if !isCommand {
			continue
		}
		for _, m := range made.FindAllStringSubmatch(line, -1) {
			there[strings.TrimSuffix(m[1], ".trace")] = true
		}
		for _, m := range input.FindAllStringSubmatch(line, -1) {
			inputs++
			if _, err := os.Stat(m[1]); err != nil && !there[m[1]] {
				t.Errorf("%s: there is no %s", line, m[1])
			}
		}
	}
	if inputs < 8 {
		t.Errorf("%d inputs: this test must be blind", inputs)
	}
}

// commentLines returns the lines of a Go file, without what is no comment: a line of code is empty.
func commentLines(text string) []string {
	lines := make([]string, strings.Count(text, "\n")+1)
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for {
		switch pos, tok, comment := s.Scan(); tok {
		case token.EOF:
			return lines
		case token.COMMENT:
			first := file.PositionFor(pos, false).Line - 1 // a //line comment does not count
			for i, line := range strings.Split(comment, "\n") {
				lines[first+i] += line + " "
			}
		}
	}
}

// TestProseNamesItsNouns: a comment or a page says the noun or the parameter's name, and no pronoun for either.
// Decisions and the changelog are history.
func TestProseNamesItsNouns(t *testing.T) {
	vague := regexp.MustCompile(`(?i)\b(those that|those who|so many|of before)\b`)
	apart := []string{"testdata", "vendor", "dist", "node_modules", "decisions", ".git"}
	pages, comments := 0, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains(apart, d.Name()) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || d.Name() == "CHANGELOG.md" {
			return err
		}
		var lines []string
		switch filepath.Ext(path) {
		case ".go":
			lines = commentLines(readFile(t, path))
			comments++
		case ".md":
			lines = strings.Split(readFile(t, path), "\n")
			pages++
		}
		for i, line := range lines {
			if words := vague.FindString(line); words != "" {
				t.Errorf("%s:%d says %q: name the noun, or the parameter", path, i+1, words)
			}
		}
		return nil
	})
	if err != nil || pages < 20 || comments < 500 {
		t.Errorf("%d pages and comments of %d files: this test must be blind: %v", pages, comments, err)
	}
}
