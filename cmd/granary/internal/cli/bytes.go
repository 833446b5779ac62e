package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// NewBytes returns the value of a flag that sets n to a number of bytes, such as 512MiB or 4GiB. 0
// stands for no limit where the flag has one.
func NewBytes(flag string, n *int64) pflag.Value { return bytesValue{flag, n} }

// bytesValue is a number of bytes.
type bytesValue struct {
	flag string
	n    *int64
}

// byteUnits are the units of sizes, each 1,024 of the one before.
var byteUnits = []string{"B", "KiB", "MiB", "GiB", "TiB"}

// String returns the number in the largest unit that divides it.
func (b bytesValue) String() string {
	if b.n == nil || *b.n == 0 {
		return ""
	}
	n, unit := *b.n, 0
	for n%1024 == 0 && unit+1 < len(byteUnits) {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + byteUnits[unit]
}

// Set parses a whole number with a unit of byteUnits, or without one for bytes.
func (b bytesValue) Set(text string) error {
	digits := strings.TrimRight(text, "BKMGTi")
	unit := 0
	for i, name := range byteUnits {
		if text[len(digits):] == name {
			unit = i
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	isUnit := text[len(digits):] == "" || text[len(digits):] == byteUnits[unit]
	if err != nil || n < 0 || !isUnit || n > math.MaxInt64>>(10*unit) {
		return Usage(fmt.Errorf("--%s %q: want a number of bytes, such as 512MiB or 4GiB", b.flag, text))
	}
	*b.n = n << (10 * unit)
	return nil
}

// Type returns the name of the value's type.
func (b bytesValue) Type() string { return "bytes" }
