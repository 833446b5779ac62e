package rows

import (
	"fmt"
	"strconv"
	"strings"
)

// A sample can have several values for a label. The first is in the column with the label's name, the
// others are in columns called name#2, name#3. If a name itself ends like that, its first column ends in
// #1, because the names must stay distinct.

// MaxValues bounds the values of one label in one sample.
const MaxValues = 256

// LabelColumn returns the concrete column for the k-th value of a label. k counts from 0.
func LabelColumn(family, name string, k int) string {
	if _, _, numbered := CutNumber(name); k > 0 || numbered {
		return fmt.Sprintf("%s.%s#%d", family, name, k+1)
	}
	return family + "." + name
}

// CutNumber is the inverse of LabelColumn, without the family. numbered reports whether the
// column has a number.
func CutNumber(column string) (name string, k int, numbered bool) {
	i := strings.LastIndexByte(column, '#')
	if i < 0 {
		return column, 0, false
	}
	n, err := strconv.Atoi(column[i+1:])
	if err != nil || n < 1 || n > MaxValues || strconv.Itoa(n) != column[i+1:] {
		return column, 0, false
	}
	return column[:i], n - 1, true
}

// NumLabelColumn returns the concrete column for the k-th value of a number label with a unit:
// name[unit].
func NumLabelColumn(name, unit string, k int) string {
	if unit != "" || strings.HasSuffix(name, "]") {
		name += "[" + escapeUnit.Replace(unit) + "]"
	}
	return LabelColumn(ColumnPprofNumLabels, name, k)
}

// The replacers escape the opening brackets of a unit, so that the last opening bracket of a column name
// is the bracket before the unit.
var (
	escapeUnit   = strings.NewReplacer("%", "%25", "[", "%5B")
	unescapeUnit = strings.NewReplacer("%25", "%", "%5B", "[")
)

// CutUnit splits the column name of a number label, without family and number, into name and unit.
func CutUnit(name string) (base, unit string) {
	if !strings.HasSuffix(name, "]") {
		return name, ""
	}
	i := strings.LastIndexByte(name, '[')
	if i < 0 {
		return name, "" // not a result of NumLabelColumn
	}
	return name[:i], unescapeUnit.Replace(name[i+1 : len(name)-1])
}
