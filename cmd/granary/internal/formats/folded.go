package formats

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/profile"
)

// WriteFolded writes a line for each path of functions: the names from the root to the leaf, separated by
// semicolons, then a space and the value. The lines are in the order of the paths.
func WriteFolded(w io.Writer, stacks *profile.Stacks) error {
	sums := map[string]int64{}
	var path strings.Builder
	for frames, value := range stacks.All() {
		path.Reset()
		for i, f := range slices.Backward(frames) {
			path.WriteString(strings.ReplaceAll(cli.Printable(f.Function), ";", ":"))
			if i > 0 {
				path.WriteByte(';')
			}
		}
		sums[path.String()] += value
	}
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(sums)) {
		if value := sums[line]; value != 0 {
			if _, err := out.WriteString(line + " " + strconv.FormatInt(value, 10) + "\n"); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}
