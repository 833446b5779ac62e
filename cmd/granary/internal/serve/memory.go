package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// The default of --memory-total is three quarters of the memory that there is, because files are cached in the rest, and
// at most mostDefault, because a machine can have other uses.
const mostDefault = 4 << 30

// memoryFlag is a flag with the part of --memory-total that it bounds.
type memoryFlag struct {
	flag  string
	to    *int64
	parts int64 // of 32, and of 11 for a front; one is left for all else
	// times is how often the bound can be taken at once.
	times int64
}

// shares are the parts of --memory-total. Pushes can take twice --max-push-memory, because one may exceed it. Each query
// can take --max-query-memory.
func (f *flags) shares() []memoryFlag {
	all := []memoryFlag{
		{"max-query-memory", &f.limits.QueryBytes, 8, int64(f.limits.Queries)},
		{"max-answer-memory", &f.limits.AnswerBytes, 2, 1},
	}
	if f.isFront() {
		return all
	}
	return append(all, memoryFlag{"memory", &f.memory, 11, 1}, memoryFlag{"max-view-memory", &f.limits.ViewBytes, 1, 1}, memoryFlag{"max-push-memory", &f.limits.PushBytes, 8, 2}, memoryFlag{"max-delta-memory", &f.limits.DeltaBytes, 1, 1})
}

// shareMemory sets the flags about memory that are not given to their parts of --memory-total, or of what the given ones
// leave of it. machine is the memory that there is, 0 if that is not known. An error is one of usage.
func (f *flags) shareMemory(fs *pflag.FlagSet, machine int64) error {
	hasTotal := fs.Changed("memory-total")
	if !hasTotal {
		f.memoryTotal = mostDefault
		if machine > 0 {
			f.memoryTotal = min(machine/4*3, mostDefault)
		}
	}
	f.isUnbounded = fs.Changed("memory") && f.memory == 0
	if f.isUnbounded && hasTotal {
		return cli.Usage(errors.New("--memory-total and --memory 0: without a limit for the store there is none for all: leave one of them out"))
	}
	if !fs.Changed("max-queries") {
		f.limits.Queries = int(min(max(f.memoryTotal/4/queryBytes, leastQueries), int64(f.limits.Queries)))
	}
	given, parts, all := int64(0), int64(1), int64(1) // bytes of the flags that are given, parts of all else, and all parts
	var names []string
	for _, s := range f.shares() {
		if all += s.parts; !fs.Changed(s.flag) {
			parts += s.parts
			continue
		}
		given += *s.to * s.times
		names = append(names, "--"+s.flag)
	}
	left := min(f.memoryTotal-given, f.memoryTotal/all*parts)
	if enough := f.memoryTotal / all * parts / 4; left < enough {
		if hasTotal {
			return cli.Usage(fmt.Errorf("--memory-total: %s take %d bytes of %d, and all else needs %d: give them less", strings.Join(names, ", "), given, f.memoryTotal, enough))
		}
		left = f.memoryTotal / all * parts
		f.memoryTotal = given + left
	}
	for _, s := range f.shares() {
		if !fs.Changed(s.flag) {
			*s.to = left / parts * s.parts / s.times
		}
	}
	f.limits.PushMost = 2 * f.limits.PushBytes
	if !fs.Changed("max-result") && f.tier == nil {
		f.limits.ResultBytes = min(f.limits.ResultBytes, f.limits.AnswerBytes)
	}
	return nil
}

// Queries at once have queryBytes each, while there are more than leastQueries.
const (
	queryBytes   = 256 << 20
	leastQueries = 4
)

// limitMemory lets the garbage collector work harder near --memory-total, unless the environment sets GOMEMLIMIT. undo
// sets what was set before.
func (f *flags) limitMemory() (undo func()) {
	if os.Getenv("GOMEMLIMIT") != "" || f.isUnbounded {
		return func() {}
	}
	before := debug.SetMemoryLimit(f.memoryTotal)
	return func() { debug.SetMemoryLimit(before) }
}

// machineMemory returns the bytes of memory that this process can have: those of the machine, or of the least of the
// control groups that it is in, of version 1 or 2. root is the root of the file system. It returns 0 if it finds neither.
func machineMemory(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	see := func(text string, unit int64) {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n > 0 && n <= math.MaxInt64/unit {
			least = min(least, n*unit)
		}
	}
	info, _ := fs.ReadFile(root, "proc/meminfo") // without the file nothing is known
	for line := range strings.Lines(string(info)) {
		if total, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			see(strings.TrimSuffix(strings.TrimSpace(total), "kB"), 1<<10)
		}
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) { // such as 4:memory:/a/b, and 0::/a/b of version 2
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		folder, file := "sys/fs/cgroup", "memory.max"
		if controllers == "memory" {
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if controllers != "" {
			continue
		}
		for at := path.Join("/", group); ; at = path.Dir(at) { // a group has at most what the one above it has
			limit, _ := fs.ReadFile(root, path.Join(folder, at, file)) // inside a container the group has another path
			see(string(limit), 1)
			if at == "/" {
				break
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
