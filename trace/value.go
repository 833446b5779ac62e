package trace

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/granarydb/granary/history"
)

// plainNumber matches a number as JSON writes it, which a cell without a kind needs to be a number. 007, +1,
// .5, NaN and a number beside a space are strings.
var plainNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)

// ParseValue reads a cell of a kind: int, float or string. Without a kind, a number as in JSON is an int if it
// fits in 64 bits without a fraction or an exponent, and a float if it fits in one; all else is a string. With
// a kind, the grammar is that of [strconv.ParseInt] in base 10 and of [strconv.ParseFloat]. An empty cell is
// null, except of kind string. Without a kind, a whole number that neither holds exactly is a string.
func ParseValue(text, kind string) (history.Value, error) {
	if text == "" && kind != "string" {
		return history.Value{}, nil
	}
	switch kind {
	case "int":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return history.Int(n), nil
		}
		return history.Value{}, fmt.Errorf("value %.40q: want a whole number", text)
	case "float":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return history.Float(f), nil
		}
		return history.Value{}, fmt.Errorf("value %.40q: want a number", text)
	case "string":
		return history.String(strings.Clone(text)), nil
	case "":
	default:
		return history.Value{}, fmt.Errorf("kind %.40q and value %.40q: want int, float, string, or null without a value", kind, text)
	}
	if plainNumber.MatchString(text) {
		for _, guess := range []string{"int", "float"} {
			v, err := ParseValue(text, guess)
			if err == nil && (guess == "int" || !isWhole(text) || strconv.FormatFloat(v.Float(), 'f', 0, 64) == text) {
				return v, nil
			}
		}
	}
	return ParseValue(text, "string")
}

// isWhole reports whether a number is written without a fraction and an exponent.
func isWhole(text string) bool { return !strings.ContainsAny(text, ".eE") }

// isExact reports whether a float holds a whole number exactly.
func isExact(n int64) bool {
	f := float64(n)
	return f < 1<<63 && int64(f) == n
}

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
