package serve

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/cobra"
)

// TestMachineMemory reads what Linux says of the machine and of control groups.
func TestMachineMemory(t *testing.T) {
	const info = "MemTotal:        2048000 kB\nMemFree:  1 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing":               {nil, 0},
		"a machine":             {map[string]string{"proc/meminfo": info}, 2048000 << 10},
		"no number":             {map[string]string{"proc/meminfo": "MemTotal: many kB\n"}, 0},
		"version 2":             {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1000000\n"}, 1000000},
		"version 2, max":        {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 2048000 << 10},
		"version 2, container":  {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "5000\n"}, 5000},
		"version 1":             {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "5:cpu:/a\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "7000\n"}, 7000},
		"version 1, container":  {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "4:memory:/docker/x\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "8000\n"}, 8000},
		"version 1, no limit":   {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, 2048000 << 10},
		"a group without lines": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "x\n\n"}, 2048000 << 10},
	} {
		root := fstest.MapFS{}
		for file, text := range test.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := machineMemory(root); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestShareMemory shares memory among flags.
func TestShareMemory(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		args    string
		machine int64
		want    string // the total and store, pushes, queries, each, answers, differences and opened files in MiB, or an error
	}{
		{"", 2048 * mib, "1536 of 528 192 4x96 96 48 48"},
		{"", 0, "4096 of 1408 512 4x256 256 128 128"},
		{"", 64 << 30, "4096 of 1408 512 4x256 256 128 128"},
		{"--memory-total 512MiB", 64 << 30, "512 of 176 64 4x32 32 16 16"},
		{"--memory-total 16GiB", 64 << 30, "16384 of 5632 2048 16x256 1024 512 512"},
		{"--memory-total 512MiB --memory 256MiB", 0, "512 of 256 48 4x24 24 12 12"},
		{"--memory 4GiB", 24 << 30, "6784 of 4096 512 4x256 256 128 128"},
		{"--memory 0", 2048 * mib, "1536 of 0 192 4x96 96 48 48"},
		{"--memory-total 1GiB --max-queries 2", 0, "1024 of 352 128 2x128 64 32 32"},
		{"--memory-total 512MiB --memory 500MiB", 0, "--memory-total: --memory take 524288000 bytes of 536870912, and all else needs 88080384"},
		{"--memory-total 512MiB --max-query-memory 256MiB", 0, "--memory-total: --max-query-memory take 1073741824"},
		{"--memory-total 512MiB --memory 0", 0, "--memory-total and --memory 0"},
		{"--query-from http://a --memory-total 352MiB", 0, "352 of 0 0 4x64 64 0 0"},
	} {
		f, cmd, got := newFlags(), new(cobra.Command), ""
		f.add(cmd)
		if err := cmd.ParseFlags(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		if err := f.shareMemory(cmd.Flags(), test.machine); err != nil {
			got = err.Error()
		} else {
			l := &f.limits
			got = fmt.Sprintf("%d of %d %d %dx%d %d %d %d", f.memoryTotal/mib, f.memory/mib, l.PushBytes/mib, l.Queries, l.QueryBytes/mib, l.AnswerBytes/mib, l.DeltaBytes/mib, l.ViewBytes/mib)
			sum := int64(0)
			for _, s := range f.shares() {
				sum += *s.to * s.times
			}
			if sum > f.memoryTotal || l.ResultBytes > l.AnswerBytes {
				t.Errorf("%s: %d bytes of %d", test.args, sum, f.memoryTotal)
			}
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s with %d: %s, want %s", test.args, test.machine, got, test.want)
		}
	}
}
