package stackfile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// stacksAtOnce is the number of stacks between two looks at the context.
const stacksAtOnce = 256

// pathBytes is the memory of a path beside its text: an entry of a map.
const pathBytes = 64

// Printable replaces characters that are not printable, because a terminal would interpret them.
func Printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, name)
}

// WriteFolded writes a line for each path of functions: the names from the root to the leaf, separated by
// semicolons, then a space and the value, or of a difference both values: before and after. The lines are in the order of the
// paths. most bounds the bytes of memory; 0 means no bound. Errors are those of w, ctx.Err() and columnstore.ErrQueryMemory.
func WriteFolded(ctx context.Context, w io.Writer, most int64, sides ...*profile.Stacks) error {
	sums, err := folded(ctx, most, sides)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(sums)) {
		values := sums[line]
		if values == [2]int64{} {
			continue
		}
		for _, v := range values[:len(sides)] {
			line += " " + strconv.FormatInt(v, 10)
		}
		if _, err := out.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	return out.Flush()
}

// folded returns the values of each path, by side.
func folded(ctx context.Context, most int64, sides []*profile.Stacks) (map[string][2]int64, error) {
	sums, bytes, n := map[string][2]int64{}, int64(0), 0
	var path strings.Builder
	for side, stacks := range sides {
		for frames, value := range stacks.All() {
			if n++; n%stacksAtOnce == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			path.Reset()
			for i, f := range slices.Backward(frames) {
				path.WriteString(strings.ReplaceAll(Printable(f.Function), ";", ":"))
				if i > 0 {
					path.WriteByte(';')
				}
			}
			text := path.String()
			values, known := sums[text]
			if !known {
				if bytes += int64(len(text)) + pathBytes; most > 0 && bytes > most {
					return nil, fmt.Errorf("%w: stopped at %d paths", columnstore.ErrQueryMemory, len(sums))
				}
			}
			values[side] += value
			sums[text] = values
		}
	}
	return sums, nil
}
