package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// NewPixels returns the value of --width for a picture, which sets n to a number of pixels.
func NewPixels(n *int) pflag.Value { return pixelsValue{n} }

// NewColumns returns the value of --width for a chart, which sets n to a number of columns.
func NewColumns(n *int) pflag.Value { return columnsValue{n} }

// NewFactor returns the value of --scale, which sets f to a factor above 0.
func NewFactor(f *float64) pflag.Value { return factorValue{f} }

// pixelsValue is the value of --width for a picture.
type pixelsValue struct{ n *int }

// String returns the width, or "" if it is not set.
func (p pixelsValue) String() string {
	if p.n == nil || *p.n == 0 {
		return ""
	}
	return strconv.Itoa(*p.n)
}

// Set parses a width.
func (p pixelsValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 600 || n > 20_000 {
		return Usage(fmt.Errorf("--width %q: want a number of pixels from 600 to 20000", text))
	}
	*p.n = n
	return nil
}

// Type returns the name of the value's type.
func (p pixelsValue) Type() string { return "int" }

// columnsValue is the value of --width for a chart.
type columnsValue struct{ n *int }

// String returns the width, or "" if it is not set.
func (c columnsValue) String() string { return pixelsValue(c).String() }

// Set parses a width.
func (c columnsValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < MinWidth || n > MaxWidth {
		return Usage(fmt.Errorf("--width %q: want a number of columns from %d to %d", text, MinWidth, MaxWidth))
	}
	*c.n = n
	return nil
}

// Type returns the name of the value's type.
func (c columnsValue) Type() string { return "int" }

// factorValue is the value of --scale.
type factorValue struct{ f *float64 }

// String returns the factor, or "" if it is not set.
func (f factorValue) String() string {
	if f.f == nil || *f.f == 0 {
		return ""
	}
	return strconv.FormatFloat(*f.f, 'g', -1, 64)
}

// Set parses a factor.
func (f factorValue) Set(text string) error {
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || !(factor > 0) || math.IsInf(factor, 0) {
		return Usage(fmt.Errorf("--scale %q: want a number above 0, such as 0.5", text))
	}
	*f.f = factor
	return nil
}

// Type returns the name of the value's type.
func (f factorValue) Type() string { return "float" }
