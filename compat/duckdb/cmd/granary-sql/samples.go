//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/duckdb"
	"github.com/granarydb/granary/profile"
)

// fixed is the columns of samples that do not depend on the profiles, in order. The store's columns are
// converted for people. Labels come before the one named duration.
var fixed = []struct{ name, is, about string }{
	{"time", "make_timestamp(timestamp // 1000)", "when the profile was taken, UTC"},
	{"sample_type", "sample_type", "what was measured: choose one, or sums mix them"},
	{"sample_unit", "sample_unit", "the unit of value"},
	{"value", "value", "how much of it"},
	{"function", "stacktrace[1]", "where it was: the leaf of the stack"},
	{"stack", "stacktrace", "function names, the leaf first"},
	{"duration", "duration", "nanoseconds that the profile is of"},
	{"period_type", "period_type", "what was counted between samples"},
	{"period_unit", "period_unit", "the unit of period"},
	{"period", "period", "how much of it was between samples"},
	{"trace_id", "replace(trace_id::VARCHAR, '-', '')", "trace of the sample, hexadecimal"},
	{"span_id", "format('{:016x}', span_id)", "span of the sample, hexadecimal"},
}

// afterLabels is the first column after the labels.
const afterLabels = "duration"

// newSamples returns the table samples: a view of the profiles, in which labels have their own
// names unless another column has the name.
func newSamples(ctx context.Context, db *duckdb.DB, profiles *profile.DB, snap *columnstore.Snapshot) (duckdb.Table, error) {
	t := duckdb.Table{Name: "samples", Table: profiles.Table(), Elements: profile.FunctionNames}
	columns, err := columnsOf(ctx, db, snap, t)
	if err != nil {
		return t, err
	}
	var list []string
	for _, f := range fixed {
		if f.name == afterLabels {
			list = append(list, labelList(columns)...)
		}
		list = append(list, f.is+" AS "+f.name)
	}
	t.Select = strings.Join(list, ",\n")
	return t, nil
}

// columnsOf returns a table's columns as SQL knows them.
func columnsOf(ctx context.Context, db *duckdb.DB, snap *columnstore.Snapshot, t duckdb.Table) (columns []column, err error) {
	rows, err := db.Query(ctx, snap, []duckdb.Table{t}, "SELECT * FROM samples LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return newColumns(rows)
}

// label is a label's column.
type label struct{ column, name string }

// labelList returns the labels' select list. A name means a profile label, or a sample label if the profile has
// no such label, as in selectors. Labels keep their columns' names, such as "labels.value", if the short name
// would be ambiguous.
func labelList(columns []column) []string {
	var order []string
	byName := map[string][]label{} // by name in lower case, as SQL compares
	for _, c := range columns {
		family, name, dotted := strings.Cut(c.name, ".")
		if !dotted {
			continue
		}
		if strings.HasPrefix(name, profile.ColumnLabels+".") || strings.HasPrefix(name, "pprof_") {
			name = family + "." + name
		}
		key := strings.ToLower(name)
		if byName[key] == nil {
			order = append(order, key)
		}
		byName[key] = append(byName[key], label{c.name, name})
	}
	for _, f := range fixed {
		for i := range byName[f.name] {
			byName[f.name][i].name = byName[f.name][i].column
		}
	}
	var list []string
	for _, key := range order {
		list = append(list, selectLabels(byName[key])...)
	}
	return list
}

// selectLabels returns the select list for labels whose names are equal in SQL.
func selectLabels(labels []label) []string {
	if len(labels) == 2 && labels[0].name == labels[1].name && textual(labels[0]) && textual(labels[1]) {
		return []string{fmt.Sprintf("coalesce(%s, %s) AS %s", duckdb.Quote(labels[0].column), duckdb.Quote(labels[1].column), duckdb.Quote(labels[0].name))}
	}
	var list []string
	for _, l := range labels {
		name := l.name
		if len(labels) > 1 {
			name = l.column
		}
		list = append(list, duckdb.Quote(l.column)+" AS "+duckdb.Quote(name))
	}
	return list
}

func textual(l label) bool { return !strings.HasPrefix(l.column, profile.ColumnPprofNumLabels+".") }

// describe returns the SQL that lists samples' columns.
func describe(ctx context.Context, db *duckdb.DB, snap *columnstore.Snapshot, samples duckdb.Table) (string, error) {
	columns, err := columnsOf(ctx, db, snap, samples)
	if err != nil {
		return "", err
	}
	about := map[string]string{}
	for _, f := range fixed {
		about[f.name] = f.about
	}
	var parts []string
	for i, c := range columns {
		what := about[c.name]
		if what == "" {
			what = "label"
		}
		parts = append(parts, fmt.Sprintf(`SELECT %d AS n, %s AS "column", %s AS type, %s AS "what it is", (
			SELECT string_agg(left(v, 32), ', ' ORDER BY v) FROM (SELECT DISTINCT %s::VARCHAR AS v FROM samples ORDER BY v LIMIT 3)) AS "such as"`,
			i, literal(c.name), literal(c.typ), literal(what), duckdb.Quote(c.name)))
	}
	return "SELECT * EXCLUDE (n) FROM (" + strings.Join(parts, "\nUNION ALL ") + ") ORDER BY n", nil
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
