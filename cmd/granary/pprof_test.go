package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
)

// The acceptance test: granary's results for real profiles equal those of go tool pprof
// exactly (P1 of package profile).

func TestTopEqualsPprof(t *testing.T) {
	eachCorpus(t, func(t *testing.T, files []string) {
		tool, files := newPprofTool(t), fewer(files)
		var types, functions atomic.Int64
		t.Run("files", func(t *testing.T) {
			for _, file := range files {
				t.Run(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)), func(t *testing.T) {
					t.Parallel() // as many as GOMAXPROCS
					n, m := compareTop(t, tool, file)
					types.Add(int64(n))
					functions.Add(int64(m))
				})
			}
		})
		t.Logf("compared %d files, %d sample types, %d functions", len(files), types.Load(), functions.Load())
	})
}

// Successive captures of one kind merge, with --sum, to the same profile as with pprof.
func TestMergeEqualsPprof(t *testing.T) {
	effort.Slow(t)
	eachCorpus(t, func(t *testing.T, files []string) {
		tool := newPprofTool(t)
		groups := map[string][]string{}
		for _, file := range files {
			kind := filepath.Join(filepath.Dir(file), strings.TrimRight(strings.TrimSuffix(filepath.Base(file), ".pb.gz"), "-0123456789"))
			groups[kind] = append(groups[kind], file)
		}
		for _, kind := range slices.Sorted(maps.Keys(groups)) {
			many := groups[kind]
			if len(many) == 1 {
				continue
			}
			sum := filepath.Join(t.TempDir(), "sum.pb.gz")
			tool.run(t, append([]string{"-proto", "-symbolize=none", "-output=" + sum}, many...)...)
			data, err := os.ReadFile(sum)
			if err != nil {
				t.Fatal(err)
			}
			want, got := contentOf(mustParse(t, data, sum)), contentOf(granaryMerge(t, append([]string{"--sum"}, many...)...))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -pprof +granary\n%s", kind, diff)
			}
			t.Logf("%s: %d files merged, %d distinct samples", kind, len(many), len(got.Samples))
		}
	})
}

// Every profile is unchanged after a round trip through the store.
func TestMergeOfOneFileIsTheFile(t *testing.T) {
	eachCorpus(t, func(t *testing.T, files []string) {
		samples, files := 0, fewer(files)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, got := contentOf(mustParse(t, data, file)), contentOf(granaryMerge(t, file))
			if want.Time == 0 {
				got.Time = 0 // granary took the file's
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -file +granary\n%s", file, diff)
			}
			samples += len(want.Samples)
		}
		t.Logf("compared %d files, %d distinct samples", len(files), samples)
	})
}

// eachCorpus runs a test on the profiles of Parca's tests, which are beside the repository, and
// on the project's own profiles.
func eachCorpus(t *testing.T, f func(t *testing.T, files []string)) {
	most := math.MaxInt
	if effort.Race { // more files are compared by the same goroutines
		most = 20
	}
	t.Run("shared", func(t *testing.T) {
		files := profilesBelow(t, beside.Data(t, "pprof"))
		f(t, files[:min(len(files), most)])
	})
	t.Run("own", func(t *testing.T) {
		files := profilesBelow(t, filepath.Join(repositoryRoot(t), "testdata", "profiles"))
		if len(files) == 0 {
			t.Skip("testdata/profiles is not there")
		}
		f(t, files[:min(len(files), most)])
	})
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatal("no go.work above the working directory", err)
	return ""
}

func profilesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".pb.gz") {
			files = append(files, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// compareTop compares all named sample types of a file. It returns the number of types and the
// number of compared functions.
func compareTop(t *testing.T, tool pprofTool, file string) (types, functions int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := mustParse(t, data, file)
	for i, typ := range p.SampleType {
		if typ.Type == "" {
			continue
		}
		index, name := typ.Type, typ.Type
		for k, other := range p.SampleType {
			if k != i && other.Type == typ.Type {
				index = strconv.Itoa(i) // pprof takes a number for a name that is not unique
				name = fmt.Sprintf("%s:%s:%s:%s", typ.Type, typ.Unit, p.PeriodType.Type, p.PeriodType.Unit)
			}
		}
		got := granaryTop(t, "--sample-index", name, file)
		if got.SampleType != typ.Type || got.Unit != typ.Unit {
			t.Errorf("%s is %s in %s, want %v", name, got.SampleType, got.Unit, typ)
		}
		var total int64
		for _, s := range p.Sample {
			total += s.Value[i]
		}
		if got.Total != total {
			t.Errorf("%s: total %d, want %d", name, got.Total, total)
		}
		want := tool.top(t, file, index, typ.Unit)
		if diff := cmp.Diff(want, byName(t, got.Functions)); diff != "" {
			t.Errorf("%s: -pprof +granary\n%s", name, diff)
		}
		types++
		functions += len(want)
	}
	t.Logf("%s: %d types, %d functions", filepath.Base(file), types, functions)
	return types, functions
}

// cost is a function's flat and cumulative value.
type cost struct{ Flat, Cum int64 }

// byName leaves out functions without cost: pprof lists functions whose samples cancel out,
// granary does not.
func byName(t *testing.T, functions []profile.Function) map[string]cost {
	t.Helper()
	out := map[string]cost{}
	for _, f := range functions {
		if _, twice := out[f.Name]; twice {
			t.Errorf("granary lists %q twice", f.Name)
		}
		if f.Flat != 0 || f.Cum != 0 {
			out[f.Name] = cost{f.Flat, f.Cum}
		}
	}
	return out
}

// topJSON is the output of granary top --json.
type topJSON struct {
	SampleType string             `json:"sample_type"`
	Unit       string             `json:"unit"`
	Profiles   int                `json:"profiles"`
	From       string             `json:"from"`
	To         string             `json:"to"`
	Total      int64              `json:"total"`
	Magnitude  int64              `json:"magnitude"`
	MeanOver   int                `json:"mean_over_times"`
	Functions  []profile.Function `json:"functions"`
}

func granaryTop(t *testing.T, args ...string) topJSON {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), append([]string{"top", "--json", "--nodes", "0"}, args...), &stdout, &stderr); code != cli.ExitOK {
		t.Fatalf("granary top %q: exit code %d, %s", args, code, stderr.String())
	}
	var out topJSON
	d := json.NewDecoder(&stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	if note := stderr.String(); note != "" && (len(out.Functions) > 0 || !strings.HasPrefix(note, "granary: there are no samples: ")) {
		t.Fatalf("granary top %q: %s", args, note)
	}
	return out
}

// granaryMerge merges files with granary merge, as go tool pprof does, which adds up values since the start of a process.
func granaryMerge(t *testing.T, files ...string) *pprof.Profile {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), append([]string{"merge", "-o", "-", "--cumulative", "sum"}, files...), &stdout, &stderr); code != cli.ExitOK {
		t.Fatalf("granary merge %q: exit code %d, %s", files, code, stderr.String())
	}
	return mustParse(t, stdout.Bytes(), "what granary wrote")
}

// mustParse uses pprof's parser, because granary's is under test.
func mustParse(t *testing.T, data []byte, name string) *pprof.Profile {
	t.Helper()
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// pprofTool is go tool pprof in an environment without the user's symbols, settings and
// profiles.
type pprofTool struct {
	binary string
	env    []string
}

func newPprofTool(t *testing.T) pprofTool {
	t.Helper()
	// -n prints the path of the tool and builds it if necessary.
	out, err := exec.Command("go", "tool", "-n", "pprof").Output()
	if err != nil {
		t.Skipf("go tool pprof is not there: %v", err)
	}
	empty := t.TempDir()
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PPROF_") })
	env = append(env, "HOME="+empty, "XDG_CONFIG_HOME="+empty, "PPROF_TMPDIR="+empty, "PPROF_BINARY_PATH="+empty)
	return pprofTool{strings.TrimSpace(string(out)), env}
}

func (p pprofTool) run(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(p.binary, args...)
	cmd.Env = p.env
	cmd.Dir = t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("pprof %q: %v: %s", args, err, stderr.String())
	}
	return stdout.Bytes()
}

// top runs pprof -top without any rounding and adds up names listed twice.
func (p pprofTool) top(t *testing.T, file, index, unit string, flags ...string) map[string]cost {
	t.Helper()
	to := map[string]string{"bytes": "B", "nanoseconds": "ns"}[unit]
	if to == "" {
		to = "minimum"
	}
	out := p.run(t, append(append([]string{
		"-top", "-symbolize=none", "-trim=false", "-nodecount=1000000", "-nodefraction=0",
		"-edgefraction=0", "-unit=" + to, "-sample_index=" + index,
	}, flags...), file)...)
	_, table, found := strings.Cut(string(out), " flat  flat%   sum%        cum   cum%\n")
	if !found {
		t.Fatalf("pprof %s prints no table:\n%s", file, out)
	}
	functions := map[string]cost{}
	for line := range strings.Lines(table) {
		m := topLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("pprof %s: no line of a table: %q", file, line)
		}
		sum := functions[m[3]]
		sum.Flat += parseValue(t, m[1])
		sum.Cum += parseValue(t, m[2])
		functions[m[3]] = sum
	}
	maps.DeleteFunc(functions, func(_ string, c cost) bool { return c == cost{} })
	return functions
}

// topLine is flat, flat%, sum%, cum, cum% and a name, which can have spaces.
var topLine = regexp.MustCompile(`^\s*(\S+)\s+\S+%?\s+\S+%?\s+(\S+)\s+\S+%?  (.*?)(?: \((?:inline|partial-inline)\))?\n$`)

// parseValue parses a value that pprof prints with -unit=B, ns or minimum: a whole number with
// its unit.
func parseValue(t *testing.T, text string) int64 {
	t.Helper()
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	v, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatalf("pprof's value %q: %v", text, err)
	}
	if v > 1<<53 || v < -1<<53 {
		t.Fatalf("pprof's value %q is not exact: it prints by way of a float64", text)
	}
	return v
}

// content is the content of a profile without IDs and order.
type content struct {
	Types, PeriodType      string
	Default                string // sample type shown first
	Period, Time, Duration int64
	Samples                map[string][]int64 // zero ones left out
}

func contentOf(p *pprof.Profile) content {
	c := content{Period: p.Period, Time: p.TimeNanos, Duration: p.DurationNanos, Samples: map[string][]int64{}}
	for _, t := range p.SampleType {
		c.Types += t.Type + ":" + t.Unit + " "
		c.Default = t.Type // pprof's default
	}
	if p.DefaultSampleType != "" {
		c.Default = p.DefaultSampleType
	}
	if p.PeriodType != nil {
		c.PeriodType = p.PeriodType.Type + ":" + p.PeriodType.Unit
	}
	for _, s := range p.Sample {
		key := sampleKey(s)
		if c.Samples[key] == nil {
			c.Samples[key] = make([]int64, len(s.Value))
		}
		for i, v := range s.Value {
			c.Samples[key][i] += v
		}
	}
	maps.DeleteFunc(c.Samples, func(_ string, values []int64) bool {
		return !slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
	})
	return c
}

// sampleKey returns the identity of a sample: frames with function, file, line and inlining,
// addresses in the mapped file, labels and units.
func sampleKey(s *pprof.Sample) string {
	var b strings.Builder
	for _, l := range s.Location {
		if m := l.Mapping; m != nil {
			fmt.Fprintf(&b, "\n%s %s %x", m.BuildID, m.File, l.Address-m.Start+m.Offset)
		} else {
			fmt.Fprintf(&b, "\n%x", l.Address)
		}
		for i, ln := range l.Line {
			fmt.Fprintf(&b, " | %s %s %s:%d %d:%d inlined %t", ln.Function.Name, ln.Function.SystemName, ln.Function.Filename,
				ln.Function.StartLine, ln.Line, ln.Column, i < len(l.Line)-1)
		}
	}
	units := maps.Clone(s.NumUnit)
	maps.DeleteFunc(units, func(_ string, u []string) bool { return strings.Join(u, "") == "" })
	fmt.Fprintf(&b, "\n%q %v %q", s.Label, s.NumLabel, units)
	return b.String()
}
