package iceberg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/granarydb/granary/profile"
)

var (
	// ErrTable is returned for a table that this package cannot use: it lacks a column, or a column has
	// another type.
	ErrTable = errors.New("not a table of samples")
	// ErrRecord is returned for rows that do not fit the profiling schema.
	ErrRecord = errors.New("not rows of profiles")
	// ErrOptions is returned for an option whose value is out of range.
	ErrOptions = errors.New("invalid options")
)

// Table columns that package profile does not have under the same name.
const (
	columnNode       = "granary_node"
	columnSeal       = "granary_seal"
	columnTime       = "time"
	columnTimeNanos  = "time_nanos"
	columnSampleText = "sample_labels"
	columnSampleNum  = "sample_num_labels"
	columnStack      = "stack"
	columnStackID    = "stack_id"
	labelPrefix      = "label_"
)

// measures are the required columns of whole numbers behind the time. They have one name here and in package
// profile. A new one is a new name here.
var measures = [...]string{profile.ColumnDuration, profile.ColumnPeriod, profile.ColumnValue}

// Lake is a table of samples in a catalog. It is safe for concurrent use.
type Lake struct {
	catalog catalog.Catalog
	ident   table.Identifier
	s3      map[string]string // properties that say where it is; none if it is Amazon's, or not used
	close   func() error
}

// TableOptions configure a new table.
type TableOptions struct {
	// Labels are labels that also get a column of their own, label_NAME, by which readers skip files
	// and row groups: job, namespace, pod. Names are not empty and differ.
	Labels []string
	// Location is the folder of the table's files. Empty means a folder in the warehouse.
	Location string
	// Symbols adds two tables beside this one, NAME_stacks and NAME_locations, with the lines,
	// addresses and binaries of all samples' stacks. Lake.Load restores them.
	Symbols bool
}

// Create creates the table, and its namespace if there is none. The errors are ErrOptions, iceberg-go's
// catalog.ErrTableAlreadyExists, and any from the catalog.
func (l *Lake) Create(ctx context.Context, opts TableOptions) error {
	schema, err := newSchema(opts.Labels)
	if err != nil {
		return err
	}
	namespace := catalog.NamespaceFromIdent(l.ident)
	if err := l.catalog.CreateNamespace(ctx, namespace, nil); err != nil && !errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return fmt.Errorf("namespace %s: %w", strings.Join(namespace, "."), err)
	}
	props := tableProperties()
	if opts.Symbols {
		props[symbolsProperty] = "true"
		if _, err := l.load(ctx); err == nil { // so that no tables are made beside a table that does not know them
			return fmt.Errorf("table %s: %w", l.Name(), catalog.ErrTableAlreadyExists)
		}
		if err := l.createSides(ctx, opts.Location); err != nil { // so that a samples table always has its tables of symbols
			return err
		}
	}
	return l.create(ctx, schema, opts.Location, props, typeColumns...)
}

// create creates a table, partitioned by day, with a sort order.
func (l *Lake) create(ctx context.Context, schema *iceberg.Schema, location string, props iceberg.Properties, sorted ...string) error {
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{
		SourceIDs: []int{fieldID(schema, columnTime)}, FieldID: iceberg.PartitionDataIDStart, Name: "time_day", Transform: iceberg.DayTransform{},
	})
	var by []table.SortField
	for _, name := range sorted {
		by = append(by, table.SortField{
			SourceIDs: []int{fieldID(schema, name)}, Transform: iceberg.IdentityTransform{}, Direction: table.SortASC, NullOrder: table.NullsFirst,
		})
	}
	create := []catalog.CreateTableOpt{catalog.WithPartitionSpec(&spec), catalog.WithProperties(props)}
	if len(by) > 0 {
		order, err := table.NewSortOrder(table.InitialSortOrderID, by)
		if err != nil {
			return err
		}
		create = append(create, catalog.WithSortOrder(order))
	}
	if location != "" {
		create = append(create, catalog.WithLocation(location))
	}
	if _, err := l.catalog.CreateTable(ctx, l.ident, schema, create...); err != nil {
		return fmt.Errorf("table %s: %w", l.Name(), err)
	}
	return nil
}

// tableProperties are a new table's properties. The page version is left unset, because Go and Java spell
// its values in two ways, and each refuses the other's.
func tableProperties() iceberg.Properties {
	return iceberg.Properties{
		table.PropertyFormatVersion:                  "2",
		"write.parquet.compression-codec":            "zstd",
		"write.metadata.delete-after-commit.enabled": "true",
		"write.metadata.previous-versions-max":       "20",
	}
}

// Name returns the table's name, with its namespace.
func (l *Lake) Name() string { return strings.Join(l.ident, ".") }

// Close closes the catalog.
func (l *Lake) Close() error { return l.close() }

// load returns the table's current state.
func (l *Lake) load(ctx context.Context) (*table.Table, error) {
	t, err := l.catalog.LoadTable(ctx, l.ident)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", l.Name(), err)
	}
	return t, nil
}

// newSchema returns a new table's schema.
func newSchema(labels []string) (*iceberg.Schema, error) {
	id := 0
	next := func() int { id++; return id }
	field := func(name string, t iceberg.Type, required bool) iceberg.NestedField {
		return iceberg.NestedField{ID: next(), Name: name, Type: t, Required: required}
	}
	labelMap := func(value iceberg.Type) iceberg.Type { // iceberg-go 0.7.0 cannot rewrite a map of required values
		return &iceberg.MapType{KeyID: next(), KeyType: iceberg.PrimitiveTypes.String, ValueID: next(), ValueType: value}
	}
	text, long := iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.Int64
	fields := []iceberg.NestedField{
		field(columnNode, text, true), field(columnSeal, long, true),
		field(columnTime, iceberg.PrimitiveTypes.TimestampTz, true), field(columnTimeNanos, long, true),
	}
	for _, name := range typeColumns {
		fields = append(fields, field(name, text, true))
	}
	for _, name := range measures {
		fields = append(fields, field(name, long, true))
	}
	fields = append(fields,
		field("labels", labelMap(text), true),
		field(columnSampleText, labelMap(text), true), field(columnSampleNum, labelMap(long), true))
	for i, name := range labels {
		if name == "" || slices.Contains(labels[:i], name) {
			return nil, fmt.Errorf("%w: label %q is empty or named twice", ErrOptions, name)
		}
		fields = append(fields, field(labelPrefix+name, text, false))
	}
	list := &iceberg.ListType{ElementID: next(), Element: text, ElementRequired: true}
	fields = append(fields, field(columnStack, list, true), field(columnStackID, long, true),
		field("trace_id", iceberg.PrimitiveTypes.Binary, false), field("span_id", long, false))
	return iceberg.NewSchema(0, fields...), nil
}

func fieldID(s *iceberg.Schema, name string) int {
	f, _ := s.FindFieldByName(name)
	return f.ID
}

// checkSchema compares a table's columns with the columns of files. A table may have additional optional
// columns, and additional label columns.
func checkSchema(s, want *iceberg.Schema) error {
	for _, f := range want.Fields() {
		have, ok := s.FindFieldByName(f.Name)
		if !ok {
			return fmt.Errorf("%w: no column %q", ErrTable, f.Name)
		}
		if kind(have.Type) != kind(f.Type) || have.Required && !f.Required {
			return fmt.Errorf("%w: column %q is %s", ErrTable, f.Name, have.Type)
		}
	}
	for _, f := range s.Fields() {
		_, own := want.FindFieldByName(f.Name)
		if !own && f.Required {
			return fmt.Errorf("%w: required column %q", ErrTable, f.Name)
		}
		if strings.HasPrefix(f.Name, labelPrefix) && f.Type != iceberg.PrimitiveTypes.String {
			return fmt.Errorf("%w: column %q is %s", ErrTable, f.Name, f.Type)
		}
	}
	return nil
}

// kind is a type without its parts' ids.
func kind(t iceberg.Type) string {
	switch t := t.(type) {
	case *iceberg.ListType:
		return "list " + t.Element.String()
	case *iceberg.MapType:
		return "map " + t.KeyType.String() + " " + t.ValueType.String()
	}
	return t.String()
}
