package iceberg

import (
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
)

const (
	groupRows       = 512 << 10
	pageBytes       = 1 << 20
	dictionaryBytes = 64 << 20
	zstdLevel       = 3
)

// fileWriter writes a Parquet file of one unit's rows. It has the rows of one group in memory as codes, and
// the pages of the column being written.
type fileWriter struct {
	out    *file.Writer
	names  []string // table columns that the file has, in its order
	texts  *texts
	places *locations
	reader *reader
	group  *group
	leaves leaves
	limit  int // rows in a group
	rows   int64
	order  *order

	symbols *symbols // nil for a table without symbols
}

// newFileWriter returns a writer to w of rows for a table with the given schema. Records have the schema of
// a scan with the options of scanOptions.
func newFileWriter(w io.Writer, s *iceberg.Schema, node string, seal int64, names namesOf) (*fileWriter, error) {
	fields, err := fileSchema(s)
	if err != nil {
		return nil, err
	}
	out, err := newParquet(w, fields)
	if err != nil {
		return nil, err
	}
	f := &fileWriter{out: out, texts: newTexts(), group: newGroup(), limit: groupRows, order: &order{sorted: true}}
	f.places = newLocations(f.texts, names)
	f.leaves = leaves{texts: f.texts, node: node, seal: seal}
	for _, field := range fields.Fields() {
		f.names = append(f.names, field.Name)
	}
	return f, nil
}

// newParquet returns a writer for a file with a schema's columns.
func newParquet(w io.Writer, fields *iceberg.Schema) (*file.Writer, error) {
	arrows, err := table.SchemaToArrowSchema(fields, nil, true, false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	props := writerProperties()
	columns, err := pqarrow.ToParquet(arrows, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	return file.NewParquetWriterWithError(w, columns.Root(), file.WithWriterProps(props))
}

// fileSchema is the schema of files: the table columns that this package knows.
func fileSchema(s *iceberg.Schema) (*iceberg.Schema, error) {
	own, err := newSchema(nil)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(s, own); err != nil {
		return nil, err
	}
	return fieldsOf(s, own), nil
}

// fieldsOf returns s's columns that are in own, and its label columns.
func fieldsOf(s, own *iceberg.Schema) *iceberg.Schema {
	var fields []iceberg.NestedField
	for _, f := range s.Fields() {
		if _, known := own.FindFieldByName(f.Name); known || isLabelColumn(f.Name) {
			fields = append(fields, f)
		}
	}
	return iceberg.NewSchema(s.ID, fields...)
}

// writerProperties are the Parquet properties. Pages in version 2 would leave the levels of maps and lists
// uncompressed, which takes more bytes than their values.
func writerProperties() *parquet.WriterProperties {
	return parquet.NewWriterProperties(
		parquet.WithAllocator(newPool()),
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithDataPageSize(pageBytes),
		parquet.WithDictionaryPageSizeLimit(dictionaryBytes),
		parquet.WithMaxRowGroupLength(groupRows),
		parquet.WithBatchSize(4096),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(zstdLevel),
		parquet.WithDictionaryFor("value", false),
		parquet.WithEncodingFor("value", parquet.Encodings.ByteStreamSplit),
		parquet.WithBloomFilterEnabledFor("trace_id", true),
		parquet.WithAdaptiveBloomFilterEnabledFor("trace_id", true),
		parquet.WithStatsFor("stack.list.element", false), // because readers cannot use bounds of elements
		parquet.WithStatsFor("labels.key_value.key", false),
		parquet.WithStatsFor("labels.key_value.value", false),
		parquet.WithStatsFor("sample_labels.key_value.key", false),
		parquet.WithStatsFor("sample_labels.key_value.value", false),
		parquet.WithStatsFor("trace_id", false),
		parquet.WithCreatedBy("granary"),
	)
}

// write adds a record's rows. The caller still owns the record.
func (f *fileWriter) write(rec arrow14.Record) error {
	if f.reader == nil {
		r, err := newReader(rec.Schema(), f.texts, f.places)
		if err != nil {
			return err
		}
		f.reader = r
	}
	for rec.NumRows() > 0 {
		n := min(rec.NumRows(), int64(f.limit-f.group.rows()))
		part := rec.NewSlice(0, n)
		err := f.reader.read(f.group, part)
		part.Release()
		if err != nil {
			return err
		}
		if f.group.rows() == f.limit {
			if err := f.flush(); err != nil {
				return err
			}
		}
		rest := rec.NewSlice(n, rec.NumRows())
		defer rest.Release()
		rec = rest
	}
	return nil
}

// flush writes the group.
func (f *fileWriter) flush() error {
	if f.group.rows() == 0 {
		return nil
	}
	f.order.add(f.group, f.texts)
	var err error
	if f.leaves.out, err = f.out.AppendRowGroupChecked(); err != nil {
		return err
	}
	for _, name := range f.names {
		if err := f.leaves.column(f.group, name); err != nil {
			return err
		}
	}
	if err := f.leaves.out.Close(); err != nil {
		return err
	}
	if f.symbols != nil {
		if err := f.symbols.add(&f.group.stackSet); err != nil {
			return err
		}
	}
	f.rows += int64(f.group.rows())
	f.group.reset()
	return nil
}

// close writes the last group and the footer.
func (f *fileWriter) close() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.out.Close()
}

// orderOf returns the id of the table's sort order for files whose rows are sorted by typeColumns. Another engine can give the table
// another order, which such files do not have (L5).
func orderOf(t *table.Table) int {
	now := t.SortOrder()
	if now.Len() > len(typeColumns) {
		return table.UnsortedSortOrderID
	}
	for i, f := range now.Fields() {
		_, isColumn := f.Transform.(iceberg.IdentityTransform)
		if !isColumn || f.Direction != table.SortASC || !slices.Equal(f.SourceIDs, []int{fieldID(t.Schema(), typeColumns[i])}) {
			return table.UnsortedSortOrderID
		}
	}
	return now.OrderID()
}

// order checks whether rows come in the sort order of init.
type order struct {
	sorted bool
	last   [4]string
}

func (o *order) add(g *group, t *texts) {
	for i, code := range g.series {
		if i > 0 && code == g.series[i-1] {
			continue
		}
		var now [4]string
		for k, p := range g.seriesSets.all[code].pairs[:len(now)] {
			now[k] = t.all[p.value]
		}
		for k := range now {
			if now[k] != o.last[k] {
				o.sorted = o.sorted && o.last[k] < now[k]
				break
			}
		}
		o.last = now
	}
}
