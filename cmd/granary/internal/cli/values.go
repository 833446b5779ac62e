package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// value is the value of a flag. pflag shows its text as the default, unless that is "" or 0.
type value[T any] struct {
	to    *T
	kind  string // the name of the type
	text  func(T) string
	parse func(text string) (T, error)
}

// String returns the text of the value.
func (v value[T]) String() string { return v.text(*v.to) }

// Set parses a text.
func (v value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		*v.to = parsed
	}
	return err
}

// Type returns the name of the type.
func (v value[T]) Type() string { return v.kind }

// NewPixels returns the value of --width for a picture, which sets n to a number of pixels.
func NewPixels(n *int) pflag.Value { return newWidth(n, "pixels", 600, 20_000) }

// NewColumns returns the value of --width for a chart, which sets n to a number of columns.
func NewColumns(n *int) pflag.Value { return newWidth(n, "columns", MinWidth, MaxWidth) }

func newWidth(n *int, unit string, least, most int) pflag.Value {
	return value[int]{n, "int", strconv.Itoa, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, Usage(fmt.Errorf("--width %q: want a number of %s from %d to %d", text, unit, least, most))
		}
		return n, nil
	}}
}

// NewFactor returns the value of --scale, which sets f to a factor above 0.
func NewFactor(f *float64) pflag.Value {
	format := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	return value[float64]{f, "float", format, func(text string) (float64, error) {
		factor, err := strconv.ParseFloat(text, 64)
		if err != nil || !(factor > 0) || math.IsInf(factor, 0) {
			return 0, Usage(fmt.Errorf("--scale %q: want a number above 0, such as 0.5", text))
		}
		return factor, nil
	}}
}
