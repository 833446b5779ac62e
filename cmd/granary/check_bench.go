package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// benchOptions holds the flags of check that measure benchmarks.
//
// The commit of the base is built in a worktree of git, so that the working tree and what is not committed stay as they are. Both
// sides run as test binaries that were built before, in turns, so that what slows the machine down meets both. Each benchmark
// runs by itself, always with the same number of iterations, so that all profiles are of the same work; their label ops is that
// number. CPU time and allocations are measured in separate runs, because the record of every allocation, which makes bytes and
// counts exact, takes most of the time of a run.
type benchOptions struct {
	bench, pkg, against, keep string
	count                     int
	time                      time.Duration
}

// Bounds of benchmarks.
const (
	maxBenchmarks = 100
	allocShare    = 5  // of the iterations of the CPU's run, one in this number is recorded with all allocations
	leastRecorded = 10 // iterations that are so, if there are as many
	maxRecorded   = 100_000
)

func (b *benchOptions) flags(cmd *cobra.Command) {
	b.pkg, b.count, b.time = ".", 6, time.Second
	flags := cmd.Flags()
	flags.StringVar(&b.bench, "bench", "", "measure the Go benchmarks that match `REGEX`, as go test -bench does")
	flags.StringVar(&b.pkg, "package", b.pkg, "the `PACKAGE` of --bench")
	flags.StringVar(&b.against, "against", "", "the `COMMIT` that is the base of --bench")
	flags.Var(cli.NewWholeNumber("count", 1, &b.count), "count", "measure each side of --bench `N` times")
	flags.Var(cli.NewDuration("benchtime", time.Millisecond, time.Hour, &b.time), "benchtime", "the `DURATION` of each run of --bench")
	flags.StringVar(&b.keep, "keep", "", "write the profiles of --bench to a new `DIR`, as base and new in it")
}

// isAsked reports whether benchmarks are measured.
func (b *benchOptions) isAsked() bool { return b.bench != "" }

// refuse returns a usage error for flags that --bench lacks.
func (b *benchOptions) refuse(cmd *cobra.Command) error {
	names := []string{"package", "against", "count", "benchtime", "keep"}
	if i := slices.IndexFunc(names, cmd.Flags().Changed); i >= 0 {
		return cli.Usage(fmt.Errorf("--%s needs --bench", names[i]))
	}
	return nil
}

// checkArgs returns a usage error for a base that is missing, or there twice.
func (b *benchOptions) checkArgs(cmd *cobra.Command, o *checkOptions, args []string) error {
	if len(o.sides[0])+len(o.sides[1])+len(o.db) > 0 || len(args) > 1 || (b.against == "") == (len(args) == 0) {
		return cli.Usage(errors.New("--bench measures the new side: the base is --against COMMIT, or BASE, the folder base or new of --keep"))
	}
	return checkInputs(cmd, args)
}

// benchmark is a benchmark that both sides run.
type benchmark struct {
	name       string
	iterations int
}

// measure runs the benchmarks, and returns the folders with the profiles of both sides. cleanup is never nil.
func (b *benchOptions) measure(cmd *cobra.Command, args []string) (dirs []string, cleanup func(), err error) {
	ctx := cmd.Context()
	scratch, err := os.MkdirTemp("", "granary-check-")
	if err != nil {
		return nil, func() {}, err
	}
	cleanup = func() { _ = os.RemoveAll(scratch) }
	out := filepath.Join(scratch, "profiles")
	if b.keep != "" {
		out = b.keep
	}
	if err := os.Mkdir(out, 0o755); err != nil { // not into older profiles: they would be runs too
		return nil, cleanup, err
	}
	sides, remove, err := b.build(ctx, scratch, out)
	was := cleanup
	cleanup = func() { remove(); was() }
	if err != nil {
		return nil, cleanup, err
	}
	if err := b.run(cmd, sides); err != nil {
		return nil, cleanup, err
	}
	if b.keep != "" {
		cli.NoteWritten(cmd, b.keep)
	}
	for _, side := range sides {
		args = append(args, side.out)
	}
	return args, cleanup, nil
}

// build builds the test binaries: that of the base, if it is a commit, and that of the new side. remove is never nil, and removes the
// worktree of the base.
func (b *benchOptions) build(ctx context.Context, scratch, out string) (sides []*benchSide, remove func(), err error) {
	remove = func() {}
	commit := ""
	if b.against != "" {
		if commit, err = output(ctx, ".", "git", "rev-parse", "--verify", "--quiet", "--end-of-options", b.against+"^{commit}"); err != nil {
			return nil, remove, fmt.Errorf("--against %s: git knows no such commit", b.against)
		}
	}
	changed, err := buildBench(ctx, ".", b.pkg, filepath.Join(scratch, "new.test"))
	if err != nil {
		return nil, remove, err
	}
	changed.out = filepath.Join(out, "new")
	if commit == "" {
		return []*benchSide{changed}, remove, nil
	}
	prefix, err := output(ctx, ".", "git", "rev-parse", "--show-prefix")
	if err != nil {
		return nil, remove, err
	}
	tree := filepath.Join(scratch, "base")
	if _, err := output(ctx, ".", "git", "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		return nil, remove, err
	}
	remove = func() { _, _ = output(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree) }
	base, err := buildBench(ctx, filepath.Join(tree, prefix), b.pkg, filepath.Join(scratch, "base.test"))
	if err != nil {
		return nil, remove, fmt.Errorf("--against %s: %w", b.against, err)
	}
	base.out = filepath.Join(out, "base")
	return []*benchSide{base, changed}, remove, nil
}

// benchSide is the test binary of one side.
type benchSide struct {
	binary, dir string // dir is that of the package, where tests run
	out         string
}

// buildBench builds the tests of one package.
func buildBench(ctx context.Context, dir, pkg, binary string) (*benchSide, error) {
	of, err := output(ctx, dir, "go", "list", "-f", "{{.Dir}}", "--", pkg)
	if err != nil {
		return nil, err
	}
	if strings.Contains(of, "\n") {
		return nil, cli.Usage(fmt.Errorf("--package %s: want one package", pkg))
	}
	if _, err := output(ctx, dir, "go", "test", "-c", "-o", binary, "--", pkg); err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("%s has no tests", pkg)
	}
	return &benchSide{binary: binary, dir: of}, nil
}

// output runs a command and returns what it prints, without the end of the line.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, &stderr, 10*time.Second
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		text := append(stderr.Bytes(), out...) // a test prints its failures
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), args[0], err, cli.Fit(cli.Printable(strings.Join(strings.Fields(string(text)), " "))+" ", 2000))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// run measures all benchmarks that all sides have, in turns.
func (b *benchOptions) run(cmd *cobra.Command, sides []*benchSide) error {
	ctx := cmd.Context()
	last := sides[len(sides)-1]
	found, err := last.list(ctx, b.bench)
	if err != nil {
		return err
	}
	for _, side := range sides[:len(sides)-1] {
		others, err := side.list(ctx, b.bench)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(name string) bool { return !slices.Contains(others, name) })
	}
	if len(found) == 0 || len(found) > maxBenchmarks {
		return fmt.Errorf("--bench %s matches %d benchmarks of both sides, want 1 to %d", b.bench, len(found), maxBenchmarks)
	}
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "measuring")
	defer bar.End()
	done, all := int64(0), int64(len(found)*b.count*len(sides))
	for _, name := range found {
		of, err := last.calibrate(ctx, name, b.time)
		if err != nil {
			return err
		}
		for i := range b.count {
			turn := slices.Clone(sides)
			if i%2 == 1 {
				slices.Reverse(turn) // neither side is always first
			}
			for _, side := range turn {
				if err := side.profile(ctx, of, i); err != nil {
					return err
				}
				done++
				bar.Show(done, all)
			}
		}
	}
	return nil
}

// resultLine is a line in which a benchmark tells its result.
var resultLine = regexp.MustCompile(`(?m)^(Benchmark\S*)\s+(\d+)\s+([\d.]+) ns/op`)

// list returns the names of benchmarks, after one iteration of each.
func (s *benchSide) list(ctx context.Context, pattern string) ([]string, error) {
	out, err := output(ctx, s.dir, s.binary, "-test.run=^$", "-test.bench="+pattern, "-test.benchtime=1x")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range resultLine.FindAllStringSubmatch(out, -1) {
		names = append(names, withoutProcs(m[1]))
	}
	return names, nil
}

// withoutProcs returns a benchmark's name without the number of processors that package testing adds.
func withoutProcs(name string) string {
	if n := runtime.GOMAXPROCS(0); n > 1 {
		name = strings.TrimSuffix(name, "-"+strconv.Itoa(n))
	}
	return name
}

// only returns the pattern of one benchmark.
func only(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}

// calibrate finds the number of iterations of a benchmark in a time.
func (s *benchSide) calibrate(ctx context.Context, name string, lasts time.Duration) (benchmark, error) {
	out, err := output(ctx, s.dir, s.binary, "-test.run=^$", "-test.bench="+only(name), "-test.benchtime="+min(lasts, time.Second).String())
	if err != nil {
		return benchmark{}, err
	}
	m := resultLine.FindStringSubmatch(out)
	if m == nil {
		return benchmark{}, fmt.Errorf("%s tells no result", name)
	}
	nanos, err := strconv.ParseFloat(m[3], 64)
	if err != nil || nanos <= 0 {
		return benchmark{}, fmt.Errorf("%s takes no time", name)
	}
	return benchmark{name, int(min(1e12, max(1, float64(lasts)/nanos)))}, nil
}

// profile runs a benchmark twice, for its CPU time and for its allocations.
func (s *benchSide) profile(ctx context.Context, b benchmark, n int) error {
	recorded := min(b.iterations, max(leastRecorded, min(maxRecorded, b.iterations/allocShare)))
	for _, pass := range []struct {
		iterations int
		file       string
		flags      []string
	}{
		{b.iterations, "cpu", []string{"-test.cpuprofile"}},
		{recorded, "mem", []string{"-test.memprofilerate=1", "-test.memprofile"}},
	} {
		dir := filepath.Join(s.out, labelBench+"="+fileName(b.name), labelOps+"="+strconv.Itoa(pass.iterations))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		file, err := filepath.Abs(filepath.Join(dir, fmt.Sprintf("%s-%04d.pb.gz", pass.file, n)))
		if err != nil {
			return err
		}
		args := append([]string{"-test.run=^$", "-test.bench=" + only(b.name), "-test.benchtime=" + strconv.Itoa(pass.iterations) + "x"}, pass.flags...)
		if _, err := output(ctx, s.dir, s.binary, append(args, file)...); err != nil {
			return err
		}
	}
	return nil
}

// fileName returns a name of a benchmark as one of a folder.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|=`, r) {
			return '_'
		}
		return r
	}, name)
}
