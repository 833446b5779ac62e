package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/cmd/granary/parquet"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// measureParquet writes a fleet as Parquet with zstd, in a compacted store's order. With stacks, rows have
// stack numbers, and a second file has the lists of ids.
func measureParquet(dir string, rows int64, stacks bool) (r report, err error) {
	store, loaded, err := fill(rows)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	p := parquetWriter{dir: dir, numbers: map[string]int64{}}
	before := measure.CPU()
	ctx := context.Background()
	err = store.View(ctx, func(snap *columnstore.Snapshot) error {
		for rec, err := range store.Table("profiles").Scan(ctx, snap, columnstore.ScanOptions{Form: columnstore.Dictionary}) {
			if err == nil {
				err = p.write(rec, stacks)
				rec.Release()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && stacks {
		err = p.writeStacks()
	}
	if err = errors.Join(err, p.close()); err != nil {
		return r, err
	}
	spent := measure.CPU() - before
	size, err := bytesIn(dir)
	if err == nil && p.rows != loaded {
		err = fmt.Errorf("%d of %d rows were written", p.rows, loaded)
	}
	r = report{Module: moduleVersion("github.com/parquet-go/parquet-go"), Figures: figures{
		"file_bytes_per_row": float64(size) / float64(loaded), "write_files_ns_per_row": float64(spent) / float64(loaded),
	}}
	return r, err
}

// fill returns a compacted store with a fleet of `rows` rows or a few more.
func fill(rows int64) (store *columnstore.Store, loaded int64, err error) {
	if store, err = columnstore.Open(columnstore.Options{FutureLimit: -1}); err != nil {
		return nil, 0, err
	}
	table, err := store.CreateTable("profiles", profile.Schema(15*time.Minute))
	f, ctx := fleet.New(fleet.Seed), context.Background()
	for n := 0; loaded < rows && err == nil; n++ {
		b := f.Profile(n, fleet.Start)
		_, err = table.Insert(ctx, b)
		loaded += int64(b.Rows)
	}
	if err == nil {
		err = store.Compact(ctx)
	}
	if err != nil {
		return nil, 0, errors.Join(err, store.Close())
	}
	return store, loaded, nil
}

// parquetWriter writes the file of rows, and the file of stacks.
type parquetWriter struct {
	dir     string
	files   []*os.File
	writers []*parquet.FileWriter
	rows    int64
	numbers map[string]int64 // by a stack's ids
	stacks  [][]byte         // by number
}

// create begins a file.
func (p *parquetWriter) create(name string, schema *arrow.Schema) error {
	file, err := os.Create(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	p.files = append(p.files, file)
	w, err := parquet.NewFileWriter(file, schema)
	if err == nil {
		p.writers = append(p.writers, w)
	}
	return err
}

// close ends the files.
func (p *parquetWriter) close() (err error) {
	for _, w := range p.writers {
		err = errors.Join(err, w.Close())
	}
	for _, f := range p.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// write writes a record of rows. With numbers, a number stands for each stack.
func (p *parquetWriter) write(rec arrow.Record, numbers bool) error {
	if numbers {
		numbered, err := p.numbered(rec)
		if err != nil {
			return err
		}
		defer numbered.Release()
		rec = numbered
	}
	if len(p.writers) == 0 {
		if err := p.create("rows.parquet", rec.Schema()); err != nil {
			return err
		}
	}
	p.rows += rec.NumRows()
	return p.writers[0].Write(rec)
}

// numbered returns a record with numbers in place of stacks. The caller releases it.
func (p *parquetWriter) numbered(rec arrow.Record) (arrow.Record, error) {
	at := rec.Schema().FieldIndices(profile.ColumnStacktrace)
	if len(at) != 1 {
		return nil, errors.New("the rows have no stacks")
	}
	column, ok := rec.Column(at[0]).(*array.Dictionary)
	if !ok {
		return nil, fmt.Errorf("stacks are of type %s", rec.Column(at[0]).DataType())
	}
	lists := column.Dictionary().(*array.List)
	ids := lists.ListValues().(*array.FixedSizeBinary)
	entries := make([]int64, lists.Len())
	var stack []byte
	for i := range entries {
		stack = stack[:0]
		for from, to := lists.ValueOffsets(i); from < to; from++ {
			stack = append(stack, ids.Value(int(from))...)
		}
		number, known := p.numbers[string(stack)]
		if !known {
			number = int64(len(p.stacks))
			p.stacks = append(p.stacks, bytes.Clone(stack))
			p.numbers[string(stack)] = number
		}
		entries[i] = number
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	for row := range column.Len() {
		b.Append(entries[column.GetValueIndex(row)])
	}
	numbers := b.NewArray()
	defer numbers.Release() // the record keeps it
	fields, columns := append([]arrow.Field(nil), rec.Schema().Fields()...), append([]arrow.Array(nil), rec.Columns()...)
	fields[at[0]], columns[at[0]] = arrow.Field{Name: profile.ColumnStacktrace, Type: arrow.PrimitiveTypes.Int64}, numbers
	return array.NewRecord(arrow.NewSchema(fields, nil), columns, rec.NumRows()), nil
}

// writeStacks writes the file of stacks: each stack's number and ids.
func (p *parquetWriter) writeStacks() error {
	const idBytes = 16
	numbers := array.NewInt64Builder(memory.DefaultAllocator)
	defer numbers.Release()
	lists := array.NewListBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: idBytes})
	defer lists.Release()
	ids := lists.ValueBuilder().(*array.FixedSizeBinaryBuilder)
	for number, stack := range p.stacks {
		numbers.Append(int64(number))
		lists.Append(true)
		for ; len(stack) > 0; stack = stack[idBytes:] {
			ids.Append(stack[:idBytes])
		}
	}
	columns := []arrow.Array{numbers.NewArray(), lists.NewArray()}
	schema := arrow.NewSchema([]arrow.Field{{Name: "number", Type: columns[0].DataType()}, {Name: "ids", Type: columns[1].DataType()}}, nil)
	rec := array.NewRecord(schema, columns, int64(len(p.stacks)))
	defer rec.Release()
	for _, c := range columns {
		c.Release() // the record keeps it
	}
	if err := p.create("stacks.parquet", schema); err != nil {
		return err
	}
	return p.writers[1].Write(rec)
}

// bytesIn returns the bytes of a directory's files.
func bytesIn(dir string) (size int64, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, err
}
