//go:build cgo

package duckdb

import (
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
)

// Table is a table for SQL.
type Table struct {
	// Table is the table. It belongs to the snapshot's store.
	Table *columnstore.Table
	// Name is the name in SQL. Empty means the table's own name.
	Name string
	// Select is the list behind SELECT that makes SQL's columns from the table's, such as `value,
	// "labels.pod" AS pod`. Empty means all columns, unchanged.
	Select string
	// Where selects the rows that SQL sees, such as the rows for a tenant or a time range. It applies
	// before DuckDB, at the cost of only the selected rows. The zero Expr is all rows.
	Where columnstore.Expr
	// Elements turns lists of UUIDs into lists of text; see columnstore.ScanOptions. For
	// profiles, profile.FunctionNames turns them into stacks of function names, leaf first.
	Elements func(dst []string, id uuid.UUID, record []byte) []string
}

func (t *Table) name() string {
	if t.Name != "" || t.Table == nil {
		return t.Name
	}
	return t.Table.Name()
}

// view returns the SQL that creates the table's view.
func (t *Table) view() string {
	list := t.Select
	if list == "" {
		list = "*"
	}
	name := t.name()
	return fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT %s\nFROM %s('%s')", Quote(name), list, scanFunction, strings.ReplaceAll(name, "'", "''"))
}

// Quote returns a name as an SQL identifier: in double quotes, with any characters.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// column is a concrete column of a table.
type column struct {
	name  string // in the store
	alias string // in SQL
	typ   encoding.Type
	text  bool // a list of text instead of UUIDs
}

// columns returns the table's columns in a snapshot.
func (t *Table) columns(snap *columnstore.Snapshot) ([]column, error) {
	names, err := t.Table.Columns(snap)
	if err != nil {
		return nil, err
	}
	schema, aliases := t.Table.Schema(), distinct(names)
	columns := make([]column, len(names))
	for i, name := range names {
		def, _ := schema.Resolve(name)
		columns[i] = column{name: name, alias: aliases[i], typ: schema.Columns()[def].Type, text: t.Elements != nil}
	}
	return columns, nil
}

// distinct makes the names distinct to DuckDB. Names that DuckDB considers equal get numbers, so that SQL
// cannot silently name the wrong column.
func distinct(names []string) []string {
	count := map[string]int{}
	for _, name := range names {
		count[fold(name)]++
	}
	aliases := make([]string, len(names))
	for i, name := range names {
		aliases[i] = name
		if count[fold(name)] == 1 {
			continue
		}
		for n := 1; ; n++ {
			aliases[i] = fmt.Sprintf("%s_%d", name, n)
			if count[fold(aliases[i])] == 0 {
				count[fold(aliases[i])] = 1
				break
			}
		}
	}
	return aliases
}

// fold returns a name in the form that DuckDB compares: only ASCII letters fold.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, name)
}

// logicalType returns the type in SQL. The receiver destroys it.
func (c *column) logicalType() mapping.LogicalType {
	switch c.typ {
	case encoding.Int64:
		return mapping.CreateLogicalType(mapping.TypeBigInt)
	case encoding.Uint64:
		return mapping.CreateLogicalType(mapping.TypeUBigInt)
	case encoding.Float64:
		return mapping.CreateLogicalType(mapping.TypeDouble)
	case encoding.Bool:
		return mapping.CreateLogicalType(mapping.TypeBoolean)
	case encoding.String:
		return mapping.CreateLogicalType(mapping.TypeVarchar)
	case encoding.UUID:
		return mapping.CreateLogicalType(mapping.TypeUUID)
	}
	element := c.element()
	defer mapping.DestroyLogicalType(&element)
	return mapping.CreateListType(element)
}

// element returns the type of a list's elements. The receiver destroys it.
func (c *column) element() mapping.LogicalType {
	if c.text {
		return mapping.CreateLogicalType(mapping.TypeVarchar)
	}
	return mapping.CreateLogicalType(mapping.TypeUUID)
}
