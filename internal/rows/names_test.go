package rows

import (
	"strings"
	"testing"
)

// Names of labels come back with any content, and no two share a column.
func TestLabelColumns(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"a", "a#1", "a#2", "a#2#1", "a#0", "a#01", "a#", "#1", "a#x", "a#-1", "a.b", "a b", "[", "]", "[]", "a[b]", "a[b", "b]", "a[b]#2"} {
		for k := range 3 {
			column := LabelColumn("f", name, k)
			if gotName, gotK, _ := CutNumber(strings.TrimPrefix(column, "f.")); gotName != name || gotK != k {
				t.Errorf("%q, value %d: column %q is read as %q, %d", name, k, column, gotName, gotK)
			}
			if other := seen[column]; other != "" {
				t.Errorf("%q and %q have the column %q", name, other, column)
			}
			seen[column] = name
		}
		for _, unit := range []string{"", "bytes", "u#2", "u]", "]", "[", "a[b", "[]", "%5B", "%"} {
			column := NumLabelColumn(name, unit, 1)
			text, k, _ := CutNumber(strings.TrimPrefix(column, ColumnPprofNumLabels+"."))
			if gotName, gotUnit := CutUnit(text); gotName != name || gotUnit != unit || k != 1 {
				t.Errorf("%q [%s]: column %q is read as %q [%s] %d", name, unit, column, gotName, gotUnit, k)
			}
		}
	}
}
