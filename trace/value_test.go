package trace

import (
	"math"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
)

// TestParseValue: a cell without a kind has the kind that the set of a CSV of this cell alone gives it. A cell
// with a kind is read by the grammar of this kind.
func TestParseValue(t *testing.T) {
	for _, test := range []struct {
		text, kind string
		want       history.Value
	}{
		{"", "", history.Value{}},
		{"", "int", history.Value{}},
		{"", "null", history.Value{}},
		{"", "string", history.String("")},
		{"7", "", history.Int(7)},
		{"-7", "", history.Int(-7)},
		{"9223372036854775807", "", history.Int(math.MaxInt64)},
		{"9223372036854775808", "", history.Float(1 << 63)},
		{"18446744073709551615", "", history.String("18446744073709551615")},
		{"1.50", "", history.Float(1.5)},
		{"1e3", "", history.Float(1000)},
		{"1E+3", "", history.Float(1000)},
		{"1e999", "", history.String("1e999")},
		{"007", "", history.String("007")},
		{"+1", "", history.String("+1")},
		{".5", "", history.String(".5")},
		{"5.", "", history.String("5.")},
		{" 1", "", history.String(" 1")},
		{"1 ", "", history.String("1 ")},
		{"0x10", "", history.String("0x10")},
		{"NaN", "", history.String("NaN")},
		{"true", "", history.String("true")},
		{`"a"`, "", history.String(`"a"`)},
		{"007", "int", history.Int(7)},
		{"+1", "int", history.Int(1)},
		{".5", "float", history.Float(.5)},
		{"1", "float", history.Float(1)},
		{"1", "string", history.String("1")},
	} {
		got, err := ParseValue(test.text, test.kind)
		if err != nil || !got.Equal(test.want) {
			t.Errorf("%q of kind %q: %v, %v, want %v", test.text, test.kind, got, err, test.want)
		}
		if test.text == "" {
			continue
		}
		rows := "time,attribute,value\n0,a,\"" + strings.ReplaceAll(test.text, `"`, `""`) + "\"\n"
		s, err := readCSV(t, CSVOptions{Kind: test.kind}, rows)
		if err != nil {
			t.Fatal(err)
		}
		if inSet := valueOf(s.At(0)); !inSet.Equal(got) {
			t.Errorf("%q of kind %q is %v, and %v in a set", test.text, test.kind, got, inSet)
		}
	}
	for text, kind := range map[string]string{"1.5": "int", "9223372036854775808": "int", "one": "float", "1": "bool", "x": "null"} {
		if got, err := ParseValue(text, kind); err == nil || !strings.HasPrefix(err.Error(), "value ") && !strings.HasPrefix(err.Error(), "kind ") {
			t.Errorf("%q of kind %q: %v, %v", text, kind, got, err)
		}
	}
}
