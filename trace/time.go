package trace

import (
	"regexp"
	"strconv"
	"strings"
)

// decimal is a number with an optional fraction.
var decimal = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]*)?$`)

// ParseDecimal reads a decimal number and returns it times 10^digits, without the digits beyond. With
// digits 9, seconds become nanoseconds. It reports false for other text and for a result beyond 64 bits.
func ParseDecimal(text string, digits int) (int64, bool) {
	if digits == 0 {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	if !decimal.MatchString(text) {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = (fraction + strings.Repeat("0", digits))[:digits]
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	return n, err == nil
}
