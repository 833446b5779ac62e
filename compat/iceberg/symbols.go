package iceberg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// symbolsProperty is the property of a samples table that has tables of symbols beside it.
const symbolsProperty = "granary.symbols"

// The tables of symbols: the samples' stacks, and these stacks' locations.
const (
	sideStacks = iota
	sideLocations
	sides
)

// sideSuffixes end the names of the tables of symbols.
var sideSuffixes = [sides]string{"_stacks", "_locations"}

// The columns in the tables of symbols that samples do not have under the same name.
const (
	columnLocations     = "locations"
	columnLocation      = "location"
	columnInlined       = "inlined"
	columnFunction      = "function"
	columnSystemName    = "system_name"
	columnSourceFile    = "file"
	columnStartLine     = "start_line"
	columnLine          = "line"
	columnLineColumn    = "column"
	columnAddress       = "address"
	columnBinary        = "binary"
	columnBuildID       = "build_id"
	columnMappingStart  = "mapping_start"
	columnMappingLimit  = "mapping_limit"
	columnMappingOffset = "mapping_offset"
	columnFlags         = "flags"
)

// Bits of the column flags. The mapping's bits are those of profile/pprof, shifted.
const (
	flagFolded = 1 << iota
	flagMapping
	mappingShift = 8
)

// sideSchema returns a new symbol table's schema.
func sideSchema(side int) *iceberg.Schema {
	text, long := iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.Int64
	id := 0
	var fields []iceberg.NestedField
	add := func(required bool, t iceberg.Type, names ...string) {
		for _, name := range names {
			id++
			fields = append(fields, iceberg.NestedField{ID: id, Name: name, Type: t, Required: required})
		}
	}
	add(true, text, columnNode)
	add(true, long, columnSeal)
	add(true, iceberg.PrimitiveTypes.TimestampTz, columnTime)
	if side == sideStacks {
		add(true, long, columnStackID)
		id++
		add(true, &iceberg.ListType{ElementID: id, Element: text, ElementRequired: true}, columnLocations)
		return iceberg.NewSchema(0, fields...)
	}
	add(true, text, columnLocation)
	add(true, long, columnInlined)
	add(false, text, columnFunction, columnSystemName, columnSourceFile)
	add(true, long, columnStartLine, columnLine, columnLineColumn, columnAddress)
	add(false, text, columnBinary, columnBuildID)
	add(true, long, columnMappingStart, columnMappingLimit, columnMappingOffset, columnFlags)
	return iceberg.NewSchema(0, fields...)
}

// beside returns a table of symbols in the same catalog.
func (l *Lake) beside(side int) *Lake {
	ident := append(table.Identifier(nil), l.ident...)
	ident[len(ident)-1] += sideSuffixes[side]
	return &Lake{catalog: l.catalog, ident: ident, s3: l.s3}
}

// createSides creates the tables of symbols, unless an earlier attempt has.
func (l *Lake) createSides(ctx context.Context, location string) error {
	for side := range sides {
		of := ""
		if location != "" {
			of = strings.TrimSuffix(location, "/") + sideSuffixes[side]
		}
		err := l.beside(side).create(ctx, sideSchema(side), of, tableProperties())
		if errors.Is(err, catalog.ErrTableAlreadyExists) {
			_, err = l.loadSide(ctx, side)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasSymbols reports whether a samples table has tables of symbols beside it.
func hasSymbols(t *table.Table) bool { return t.Properties()[symbolsProperty] == "true" }

// loadSide returns a table of symbols. The error is ErrTable for a table with other columns.
func (l *Lake) loadSide(ctx context.Context, side int) (*table.Table, error) {
	of := l.beside(side)
	t, err := of.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(t.Schema(), sideSchema(side)); err != nil {
		return nil, fmt.Errorf("table %s: %w", of.Name(), err)
	}
	return t, nil
}

// loadSides returns a samples table's tables of symbols; none if it has none.
func (l *Lake) loadSides(ctx context.Context, t *table.Table) (of [sides]*table.Table, err error) {
	if !hasSymbols(t) {
		return of, nil
	}
	for side := range of {
		if of[side], err = l.loadSide(ctx, side); err != nil {
			return of, err
		}
	}
	return of, nil
}

// commitSides adds a unit's symbol files to their tables, once even if an answer gets lost. A unit that is
// written again has its symbols there twice.
func (l *Lake) commitSides(ctx context.Context, f *Files) error {
	for side, files := range f.sides {
		if len(files) == 0 {
			continue
		}
		key, first := nodePrefix+f.Node, files[0].FilePath()
		err := l.beside(side).change(ctx, func(t *table.Table) (*table.Transaction, error) {
			if t.Properties()[key] == first {
				return nil, nil
			}
			tx := t.NewTransaction()
			return tx, errors.Join(
				tx.SetProperties(iceberg.Properties{key: first}),
				tx.AddDataFiles(ctx, files, nil, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping()),
				tx.AssertRefSnapshotID(""))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls do for the samples table, then for the tables of symbols.
func (l *Lake) each(ctx context.Context, do func(l *Lake) error) error {
	t, err := l.load(ctx)
	if err == nil {
		err = do(l)
	}
	for side := range sides {
		if err == nil && hasSymbols(t) {
			err = do(l.beside(side))
		}
	}
	return err
}
