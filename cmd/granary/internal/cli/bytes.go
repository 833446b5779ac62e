package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// byteUnits are the units of bytes. The empty unit is last, because every text ends with it.
var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
	{"", 1},
}

// NewBytes returns the value of a flag that sets *to to a number of bytes, at least `least`. Its text is a
// number with or without a unit, as 16MiB or 2GB.
func NewBytes(flag string, least int64, to *int64) pflag.Value {
	return value[int64]{to, "bytes", bytesText, func(text string) (int64, error) {
		for _, unit := range byteUnits {
			digits, ok := strings.CutSuffix(text, unit.name)
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
			if err != nil || n > math.MaxInt64/unit.bytes || n*unit.bytes < least {
				break
			}
			return n * unit.bytes, nil
		}
		return 0, Usage(fmt.Errorf("--%s %q: want bytes, at least %d, such as 64MiB or 2GB", flag, text, least))
	}}
}

// bytesText returns bytes in the largest binary unit that divides them, or "" for 0.
func bytesText(n int64) string {
	if n == 0 {
		return ""
	}
	name := "B"
	for i := 0; n%1024 == 0 && i < 4; i++ {
		n, name = n/1024, byteUnits[i].name
	}
	return strconv.FormatInt(n, 10) + name
}

// AddDiskBudget adds the flag --disk-budget to a command that writes the directory of --db.
func AddDiskBudget(cmd *cobra.Command, to *int64) {
	cmd.Flags().Var(NewBytes("disk-budget", 16<<20, to), "disk-budget", "keep the directory of --db within `BYTES`, such as 2GiB, and drop the oldest time ranges for that; at least 16MiB (default: no bound)")
}
