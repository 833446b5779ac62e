package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/granarydb/granary/bench/programs"
)

// A comparison's two sides.
const (
	base = iota
	head
)

var sideNames = [2]string{base: "base", head: "head"}

// builds are the two sides' programs.
type builds struct {
	folder    string // temporary
	root      string // root of the checkout
	worktrees []string
	checkouts [2]string
}

// checkOutSides checks out two commits. An empty headCommit is the checkout itself.
func checkOutSides(ctx context.Context, baseCommit, headCommit string) (*builds, error) {
	root, err := programs.Output(ctx, "", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "bench-compare-")
	if err != nil {
		return nil, err
	}
	b := &builds{folder: folder, root: string(bytes.TrimSpace(root))}
	for side, commit := range []string{base: baseCommit, head: headCommit} {
		if err := b.checkOut(ctx, side, commit); err != nil {
			b.close()
			return nil, err
		}
	}
	return b, nil
}

// checkOut makes a side's worktree, if it is a commit.
func (b *builds) checkOut(ctx context.Context, side int, commit string) error {
	b.checkouts[side] = b.root
	if commit == "" {
		return nil
	}
	checkout := filepath.Join(b.folder, sideNames[side])
	if _, err := programs.Output(ctx, b.root, nil, "git", "worktree", "add", "--quiet", "--detach", checkout, commit); err != nil {
		return err
	}
	b.checkouts[side], b.worktrees = checkout, append(b.worktrees, checkout)
	return nil
}

// build builds a side's program with a layout, once, and returns its file.
func (b *builds) build(ctx context.Context, side, layout int) (string, error) {
	program := filepath.Join(b.folder, fmt.Sprintf("%s.%d.bench", sideNames[side], layout))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fmt.Fprintf(os.Stderr, "compare: build %s, layout %d\n", sideNames[side], layout)
	_, err := programs.Output(ctx, filepath.Join(b.checkouts[side], "bench"), nil, "go", "build", fmt.Sprintf("-ldflags=-randlayout=%d", layout), "-o", program, ".")
	return program, err
}

// close removes the worktrees and programs.
func (b *builds) close() {
	for _, w := range b.worktrees {
		// The caller's context may be cancelled by now.
		if _, err := programs.Output(context.Background(), b.root, nil, "git", "worktree", "remove", "--force", w); err != nil {
			fmt.Fprintln(os.Stderr, "compare:", err)
		}
	}
	if err := os.RemoveAll(b.folder); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
	}
}

// measure runs a workload in rounds of base, head, head, base. Each pair has a layout of its own, because
// where the linker places a function moves a query's time by up to 15 %. Both sides run in the checkout's
// bench folder, so that they find the same recorded data.
func (b *builds) measure(ctx context.Context, o options, workload string) (runs [2][]values, err error) {
	args := []string{"-rows", strconv.FormatInt(o.rows, 10), "-repeat", strconv.Itoa(o.repeat), "-workload", workload}
	if workload == "histories" {
		args = append(args, o.sets...)
	}
	var env []string
	if o.procs > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(o.procs))
	}
	for round := range o.rounds {
		for i, side := range []int{base, head, head, base} {
			program, err := b.build(ctx, side, 2*round+i/2+1)
			if err != nil {
				return runs, err
			}
			fmt.Fprintf(os.Stderr, "compare: %s, round %d of %d, %s\n", workload, round+1, o.rounds, sideNames[side])
			text, err := programs.Output(ctx, filepath.Join(b.root, "bench"), env, append([]string{program}, args...)...)
			if err != nil {
				return runs, err
			}
			v, err := readValues(workload, text)
			if err != nil {
				return runs, err
			}
			runs[side] = append(runs[side], v)
		}
	}
	return runs, nil
}
