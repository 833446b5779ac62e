package profile

import (
	"math"
	"strconv"
	"strings"
)

// unitStep is a unit of a scale. size is its length in the base unit.
type unitStep struct {
	name string
	size float64
}

var (
	timeUnits = []unitStep{
		{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9},
	}
	byteUnits = []unitStep{
		{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	}
)

// FormatValue formats value, measured in unit, for people to read.
//
// Times ("nanoseconds", "microseconds", "milliseconds", "seconds") are printed as ns, us, ms, s, min or
// h. "bytes" are printed as B, KiB, MiB and so on, in steps of 1024. Both have up to three significant
// digits, or all digits before the point if there are more. The unit is the largest in which the number
// is at least 1: "1.23 s", "4.5 MiB". A "count" is the exact number with thousands separators: "1,234".
// Any other unit is the exact number followed by the unit, and an empty unit is the number alone.
func FormatValue(value int64, unit string) string {
	switch unit {
	case "nanoseconds":
		return scaled(float64(value), timeUnits)
	case "microseconds":
		return scaled(float64(value)*1e3, timeUnits)
	case "milliseconds":
		return scaled(float64(value)*1e6, timeUnits)
	case "seconds":
		return scaled(float64(value)*1e9, timeUnits)
	case "bytes":
		return scaled(float64(value), byteUnits)
	case "count", "":
		return grouped(strconv.FormatInt(value, 10))
	default:
		return grouped(strconv.FormatInt(value, 10)) + " " + unit
	}
}

// scaled prints value, given in the base unit of steps, in the largest step in which it is at least 1.
// The choice depends on the rounded number, because 999.9 ms must be printed as "1 s" and not "1000 ms".
func scaled(value float64, steps []unitStep) string {
	magnitude := math.Abs(value)
	for i, step := range steps {
		digits, rounded := threeDigits(magnitude / step.size)
		if i+1 < len(steps) && rounded*step.size >= steps[i+1].size {
			continue
		}
		if value < 0 {
			digits = "-" + digits
		}
		return grouped(digits) + " " + step.name
	}
	panic("unreachable: the last step takes every value")
}

// threeDigits prints v >= 0 with three significant digits, or all digits before the point. It returns the
// printed number too.
func threeDigits(v float64) (string, float64) {
	decimals := 0
	switch {
	case v < 10:
		decimals = 2
	case v < 100:
		decimals = 1
	}
	digits := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	rounded, _ := strconv.ParseFloat(digits, 64) // the output of FormatFloat always parses
	return digits, rounded
}

// grouped puts commas between groups of three digits before the point.
func grouped(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	whole, fraction := number, ""
	if dot := strings.IndexByte(number, '.'); dot >= 0 {
		whole, fraction = number[:dot], number[dot:]
	}
	var out strings.Builder
	out.WriteString(sign)
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	out.WriteString(fraction)
	return out.String()
}
