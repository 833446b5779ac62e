package parquet

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/parquet-go/parquet-go"
)

const (
	// groupRows is the number of rows at which a row group ends. Readers skip groups by their minimum and
	// maximum values, and read several in parallel.
	groupRows = 256 << 10
	// groupBytes bounds the memory of an unwritten row group: its compressed pages and
	// dictionaries.
	groupBytes = 64 << 20
	// pageBytes is the size of a page before it is compressed. A smaller page compresses worse.
	pageBytes = 1 << 20
)

// A FileWriter writes a Parquet file. It holds the pages of one row group in memory. It is not
// safe for concurrent use.
type FileWriter struct {
	out     *parquet.GenericWriter[any]
	schema  *arrow.Schema
	columns []*column
	rows    int64 // rows in the row group
	written int64 // bytes of the previous row groups
}

// NewFileWriter returns a writer to w for records with the given schema. It returns [ErrType] if the package
// cannot write a type in the schema.
func NewFileWriter(w io.Writer, schema *arrow.Schema) (*FileWriter, error) {
	p := &FileWriter{schema: schema}
	root := group{}
	for i, f := range schema.Fields() {
		n, err := node(f)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		p.columns = append(p.columns, &column{index: i, optional: f.Nullable})
		root.fields = append(root.fields, field{n, f.Name})
	}
	p.out = parquet.NewGenericWriter[any](w, parquet.NewSchema("rows", root),
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1), // version 2 stores the levels of lists uncompressed
		parquet.PageBufferSize(pageBytes))
	return p, nil
}

// Write writes a record. The caller keeps its reference and may release it afterwards. Write
// returns [ErrType] and writes nothing if the record does not have the writer's schema. Other
// errors come from the underlying writer.
func (p *FileWriter) Write(rec arrow.Record) error {
	if err := p.check(rec); err != nil {
		return err
	}
	for i, out := range p.out.ColumnWriters() { // one per column: lists have one leaf
		if err := p.columns[i].write(out, rec.Column(i)); err != nil {
			return fmt.Errorf("column %s: %w", rec.ColumnName(i), err)
		}
	}
	p.rows += rec.NumRows()
	if p.rows < groupRows && p.out.Size()-p.written < groupBytes {
		return nil
	}
	if err := p.out.Flush(); err != nil {
		return err
	}
	p.rows, p.written = 0, p.out.Size()
	return nil
}

// check compares the types of a record with the schema. It also rejects nulls in columns that are not
// nullable.
func (p *FileWriter) check(rec arrow.Record) error {
	if int(rec.NumCols()) != len(p.columns) {
		return fmt.Errorf("%w: a record of %d columns, want %d", ErrType, rec.NumCols(), len(p.columns))
	}
	for i, f := range p.schema.Fields() {
		from := rec.Column(i)
		if !arrow.TypeEqual(from.DataType(), f.Type) {
			return fmt.Errorf("column %s: %w: %s, want %s", f.Name, ErrType, from.DataType(), f.Type)
		}
		if !f.Nullable && from.NullN() > 0 {
			return fmt.Errorf("column %s: %w: null in a column without nulls", f.Name, ErrType)
		}
	}
	return nil
}

// Close writes the remaining rows and the footer. It does not close the underlying writer. It must also be
// called after an error of Write. It then still writes a valid footer, and the caller must discard the file.
func (p *FileWriter) Close() error { return p.out.Close() }
