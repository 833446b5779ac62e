package iceberg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// target is a table with the partition spec of new files, and its file system, because a catalog can have a place, or keys, for each
// table.
type target struct {
	table *table.Table
	spec  iceberg.PartitionSpec
	fs    iceio.WriteFileIO
}

func newTarget(ctx context.Context, t *table.Table) (target, error) {
	fs, err := t.FS(ctx)
	if err != nil {
		return target{}, err
	}
	out, ok := fs.(iceio.WriteFileIO)
	if !ok {
		return target{}, fmt.Errorf("%w: files of %s cannot be written", ErrTable, t.Location())
	}
	spec, err := specOf(t)
	return target{t, spec, out}, err
}

// dataFile is a table's file being written, with rows of one day.
type dataFile struct {
	lazyFile
	table  *table.Table
	spec   iceberg.PartitionSpec
	buffer *bufio.Writer
	out    *file.Writer // a fileWriter has its own
	rows   int64        // of out
}

// newDataFile returns a file with a unique name (L6), in its day's folder. of is whose rows it has.
func newDataFile(t target, of string, from int64) *dataFile {
	name := fmt.Sprintf("%s/data/time_day=%s/%s-%s.parquet", strings.TrimSuffix(t.table.Location(), "/"),
		time.Unix(0, from).UTC().Format(time.DateOnly), of, uuid.New())
	d := &dataFile{lazyFile: lazyFile{fs: t.fs, name: name}, table: t.table, spec: t.spec}
	d.buffer = bufio.NewWriterSize(&d.lazyFile, 1<<20)
	return d
}

// open begins the file, with columns.
func (d *dataFile) open(fields *iceberg.Schema) (err error) {
	d.out, err = newParquet(d.buffer, fields)
	return err
}

// finish ends the file and returns it, with the bounds of its columns. It removes the file after an error.
func (d *dataFile) finish(ctx context.Context, order int) (data iceberg.DataFile, err error) {
	if d.out != nil {
		err = d.out.Close()
	}
	if err = errors.Join(err, d.buffer.Flush(), d.Close()); err == nil {
		data, err = table.FileToDataFile(ctx, d.fs, d.name, d.table.Schema(), d.spec, order, d.table.Properties())
	}
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return data, nil
}

// lazyFile is a file that is created by the first write, and is on the disk after Close.
type lazyFile struct {
	fs     iceio.WriteFileIO
	name   string
	file   iceio.FileWriter
	closed bool
}

func (f *lazyFile) Write(b []byte) (int, error) {
	if f.file == nil {
		out, err := f.fs.Create(f.name)
		if err != nil {
			return 0, err
		}
		f.file = out
	}
	return f.file.Write(b)
}

// Close syncs the file, if its filesystem can, and closes it. A file that is closed, or was not created,
// stays as it is.
func (f *lazyFile) Close() error {
	if f.file == nil || f.closed {
		return nil
	}
	f.closed = true
	var err error
	if s, ok := f.file.(interface{ Sync() error }); ok {
		err = s.Sync()
	}
	return errors.Join(err, f.file.Close())
}

// remove closes and removes a useless file. It becomes an orphan if that fails.
func (f *lazyFile) remove() error {
	if f.file == nil {
		return nil
	}
	if !f.closed {
		f.closed = true
		_ = f.file.Close() // until then S3 holds the parts in transit
	}
	f.file = nil
	return f.fs.Remove(f.name)
}
