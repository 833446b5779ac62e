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

// Table is a table that SQL can name.
type Table struct {
	// Table is the table, of the store that the snapshot is of.
	Table *columnstore.Table
	// Name is what SQL calls it. Empty means the table's own name.
	Name string
	// Select is the list behind SELECT that makes the columns which SQL sees of those of
	// the table, such as `value, "labels.pod" AS pod`. Empty means all, as they are.
	Select string
	// Where chooses the rows that SQL sees, before DuckDB does, and at the cost of those
	// only: the rows of a tenant, or of a time. The zero Expr is all of them.
	Where columnstore.Expr
	// Elements makes the lists of UUIDs lists of text: see columnstore.ScanOptions. Of
	// profiles, profile.FunctionNames makes stacks of function names of them, leaf first.
	Elements func(dst []string, id uuid.UUID, record []byte) []string
}

func (t *Table) name() string {
	if t.Name != "" || t.Table == nil {
		return t.Name
	}
	return t.Table.Name()
}

// view returns the SQL that makes the table one that SQL can name.
func (t *Table) view() string {
	list := t.Select
	if list == "" {
		list = "*"
	}
	name := t.name()
	return fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT %s\nFROM %s('%s')", Quote(name), list, scanFunction, strings.ReplaceAll(name, "'", "''"))
}

// Quote returns a name as SQL takes it, whatever is in it: in double quotes.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// column is a concrete column of a table.
type column struct {
	name  string // in the store
	alias string // in SQL
	typ   encoding.Type
	text  bool // a list of text, not of UUIDs
}

// columns returns the columns that the table has in a snapshot.
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

// distinct returns the names such that DuckDB can tell them from each other. All that it
// takes for one name get numbers: it must not answer with the column that was not meant.
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

// fold returns a name as DuckDB compares it: capitals are letters of ASCII to it.
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
