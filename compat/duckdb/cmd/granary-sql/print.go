//go:build cgo

package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"slices"

	"github.com/granarydb/granary/compat/duckdb"
)

// output is the answer's form: a table unless a flag is set.
type output struct{ csv, json bool }

// print prints the rows.
func (o output) print(w io.Writer, rows *duckdb.Rows) error {
	columns, err := newColumns(rows)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(w)
	switch {
	case o.csv:
		err = printCSV(buffered, columns, rows)
	case o.json:
		err = printJSON(buffered, columns, rows)
	case isPlan(columns):
		err = printPlan(buffered, columns, rows)
	default:
		err = printTable(buffered, terminalWidth(w), columns, rows)
	}
	if err == nil {
		err = buffered.Flush()
	}
	return err
}

// column is a column in the answer.
type column struct{ name, typ string }

func newColumns(rows *duckdb.Rows) ([]column, error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	columns := make([]column, len(types))
	for i, t := range types {
		columns[i] = column{t.Name(), t.DatabaseTypeName()}
	}
	return columns, nil
}

// each calls f with each row's values, which are valid only during the call.
func each(columns []column, rows *duckdb.Rows, f func(values []any) error) error {
	values, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if err := f(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

func printCSV(w io.Writer, columns []column, rows *duckdb.Rows) error {
	out := csv.NewWriter(w)
	record := make([]string, len(columns))
	for i, c := range columns {
		record[i] = c.name
	}
	if err := out.Write(record); err != nil {
		return err
	}
	err := each(columns, rows, func(values []any) error {
		for i, v := range values {
			switch v.(type) {
			case nil:
				record[i] = ""
			case []any:
				record[i] = string(encoded(v, columns[i].typ))
			default:
				record[i] = text(v, columns[i].typ)
			}
		}
		return out.Write(record)
	})
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return err
}

// printJSON prints an array of objects with fields in the columns' order.
func printJSON(w io.Writer, columns []column, rows *duckdb.Rows) error {
	names := make([][]byte, len(columns))
	for i, name := range distinct(columns) {
		names[i] = encoded(name, "")
	}
	open := "["
	err := each(columns, rows, func(values []any) error {
		line := []byte(open + "\n")
		open = ","
		for i, v := range values {
			separator := byte(',')
			if i == 0 {
				separator = '{'
			}
			line = append(append(append(line, separator), names[i]...), ':')
			line = append(line, encoded(v, columns[i].typ)...)
		}
		_, err := w.Write(append(line, '}'))
		return err
	})
	if err != nil {
		return err
	}
	if open == "[" {
		_, err = fmt.Fprintln(w, "[]")
	} else {
		_, err = fmt.Fprintln(w, "\n]")
	}
	return err
}

// distinct returns the columns' names. Repeated names get a number.
func distinct(columns []column) []string {
	var names []string
	for _, c := range columns {
		name := c.name
		for n := 1; slices.Contains(names, name); n++ {
			name = fmt.Sprintf("%s_%d", c.name, n)
		}
		names = append(names, name)
	}
	return names
}

// isPlan reports whether the answer comes from EXPLAIN: diagrams with several lines.
func isPlan(columns []column) bool {
	return len(columns) == 2 && columns[0].name == "explain_key" && columns[1].name == "explain_value"
}

func printPlan(w io.Writer, columns []column, rows *duckdb.Rows) error {
	return each(columns, rows, func(values []any) error {
		_, err := fmt.Fprintln(w, text(values[1], columns[1].typ))
		return err
	})
}
