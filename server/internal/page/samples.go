package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/rows"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// samplesOf returns the condition that a sample belongs to an attribute, as defined by profile.States.
func (q *pageQuestion) samplesOf(s *pageStates, names []string) (columnstore.Expr, error) {
	values, ok := s.path.Values(names)
	if !ok || len(values) == 0 {
		return columnstore.Expr{}, fault.Invalid("parameters p and attribute: want an attribute that p leads to by one label in a name")
	}
	columns, err := q.at.DB.Table().Columns(q.at.Snap)
	if err != nil {
		return columnstore.Expr{}, err
	}
	var all []columnstore.Expr
	for i, label := range s.path.Labels {
		all = append(all, isLabel(columns, label, values[i]))
	}
	return columnstore.And(all...), nil
}

// isLabel returns the condition that a label has a value: a label of the profile, otherwise of the sample,
// otherwise a number label, in the order of its columns.
func isLabel(columns []string, label, value string) columnstore.Expr {
	var found, missing []columnstore.Expr
	add := func(is, none columnstore.Expr) {
		found = append(found, columnstore.And(append(slices.Clip(missing), is)...))
		missing = append(missing, none)
	}
	for _, column := range []string{profile.ColumnLabels + "." + label, rows.LabelColumn(profile.ColumnPprofLabels, label, 0)} {
		add(columnstore.Equal(column, value), columnstore.Equal(column, ""))
	}
	if rows.IDType(label) != 0 { // the text of an id is hexadecimal
		add(columnstore.Func(label, func(id any) bool { return id != nil && rows.IDText(id) == value }), columnstore.IsNull(label))
	}
	number, err := strconv.ParseInt(value, 10, 64)
	isNumber := err == nil && strconv.FormatInt(number, 10) == value
	for _, column := range columns {
		if family, rest, _ := strings.Cut(column, "."); family != profile.ColumnPprofNumLabels || !isFirstNumber(rest, label) {
			continue
		}
		is := columnstore.Or()
		if isNumber {
			is = columnstore.Equal(column, number)
		}
		add(is, columnstore.IsNull(column))
	}
	return columnstore.Or(found...)
}

// isFirstNumber reports whether a column of number labels has the first values of a label.
func isFirstNumber(column, label string) bool {
	name, k, _ := rows.CutNumber(column)
	name, _ = rows.CutUnit(name)
	return k == 0 && name == label
}
