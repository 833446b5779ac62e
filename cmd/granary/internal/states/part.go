package states

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/partial/partialfile"
	"github.com/granarydb/granary/trace"
)

// changes are the rows of a CSV of changes, in the order of time, as the events of a partial history. A
// position is the offset of a row's first byte.
type changes struct {
	File      string // by keptName
	Separator rune
	Unit      int
	Kind      string `json:",omitempty"`
	// Bytes is the size of the CSV. A CSV with another size counts as another CSV.
	Bytes int64

	path string // path of the CSV, for this process
}

// changeRow is a row of the CSV: an attribute's path, and its value from then on.
type changeRow struct {
	path  []string
	value history.Value
}

// newChanges returns the changes of a CSV for the history file `output`.
func newChanges(csv, output string, opts trace.CSVOptions) (*changes, error) {
	name, err := keptName(csv, output)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(csv)
	if err != nil {
		return nil, err
	}
	return &changes{File: name, Separator: opts.Separator, Unit: opts.Unit, Kind: opts.Kind, Bytes: info.Size(), path: csv}, nil
}

// first returns the time of the first row.
func (c *changes) first(ctx context.Context) (int64, error) {
	r, err := c.Open(ctx, nil)
	if err != nil {
		return 0, err
	}
	at, _, err := r.Next()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: there are no rows", c.path)
	}
	return at, errors.Join(err, r.Close())
}

// Open implements partial.Events.
func (c *changes) Open(ctx context.Context, position []byte) (partial.Reader[changeRow], error) {
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	r := &changeReader{of: c, ctx: ctx, file: f}
	r.rows(0)
	if err := r.header(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if position != nil {
		at, n := binary.Uvarint(position)
		if n != len(position) || at > 1<<62 {
			return nil, errors.Join(fmt.Errorf("%x is no position", position), f.Close())
		}
		if _, err := f.Seek(int64(at), io.SeekStart); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		r.rows(int64(at))
	}
	return r, nil
}

// changeReader reads rows.
type changeReader struct {
	of    *changes
	ctx   context.Context
	file  *os.File
	begin int64 // offset of in's first byte
	in    *csv.Reader
	n     int
	last  int64 // the time of the previous row, if n is above 0

	time, attribute, value, kind int // columns; kind is -1 if there is none
}

// rows begins to read rows at the byte `begin`, which is the file's current offset.
func (r *changeReader) rows(begin int64) {
	r.begin, r.in = begin, csv.NewReader(bufio.NewReaderSize(r.file, 256<<10))
	r.in.ReuseRecord = true
}

// header reads the first line.
func (r *changeReader) header() error {
	names, err := r.in.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", r.of.path, err)
	}
	for i, name := range names {
		names[i] = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
	}
	column := func(name string) int { return slices.Index(names, name) }
	r.time, r.attribute, r.value, r.kind = column("time"), column("attribute"), column("value"), column("kind")
	if r.time < 0 || r.attribute < 0 || r.value < 0 {
		return fmt.Errorf("%s: line 1: the columns are %.200q: a part is kept of changes: want time,attribute,value, in any order, and perhaps kind", r.of.path, strings.Join(names, ","))
	}
	return nil
}

// Next implements partial.Reader.
func (r *changeReader) Next() (at int64, c changeRow, err error) {
	const look = 1 << 12 // rows between two checks of the context
	if r.n%look == 0 {
		if err := r.ctx.Err(); err != nil {
			return 0, c, err
		}
	}
	begin := r.begin + r.in.InputOffset()
	record, err := r.in.Read()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s: the row at byte %d: %w", r.of.path, begin, err)
		}
		return 0, c, err
	}
	if at, c, err = r.parse(record); err == nil && r.n > 0 && at < r.last {
		err = errors.New("its time is before that of the row in front of it: a part is kept of rows in the order of time")
	}
	if err != nil {
		return 0, c, fmt.Errorf("%s: the row at byte %d: %w", r.of.path, begin, err)
	}
	r.n++
	r.last = at
	return at, c, nil
}

// parse parses a row.
func (r *changeReader) parse(record []string) (at int64, c changeRow, err error) {
	opts := trace.CSVOptions{Unit: r.of.Unit}
	if at, err = opts.ParseTime(record[r.time]); err != nil {
		return 0, c, err
	}
	if c.path, err = trace.ParsePath(strings.Clone(record[r.attribute]), r.of.Separator); err != nil {
		return 0, c, err
	}
	kind := r.of.Kind
	if r.kind >= 0 {
		if of := strings.TrimSpace(record[r.kind]); of != "" {
			kind = of
		}
	}
	c.value, err = trace.ParseValue(record[r.value], kind)
	return at, c, err
}

// Position implements partial.Reader.
func (r *changeReader) Position() ([]byte, error) {
	return binary.AppendUvarint(nil, uint64(r.begin+r.in.InputOffset())), nil
}

// Close implements partial.Reader.
func (r *changeReader) Close() error { return r.file.Close() }

// partProvider is the start of the provider of a file with a part of a CSV's states; the JSON of a changes
// follows. A change of the format of either, or of the conversion of a row, needs another number.
const partProvider = "granary history import --partial 1 "

// provide writes the state that a change sets.
func provide(w *partial.Writer, c changeRow) error {
	a, err := w.Attribute(c.path...)
	if err != nil {
		return err
	}
	if err = w.Change(a, c.value); errors.Is(err, history.ErrKind) {
		return fmt.Errorf("%s: %w: --kind, or a column kind, sets one kind for all of its values", history.PathText(c.path), err)
	}
	return err
}

// importPart writes a file with a part of a CSV's states, and prints a summary.
func importPart(cmd *cobra.Command, o *importOptions, opts trace.CSVOptions, csv string) error {
	of, err := newChanges(csv, o.output, opts)
	if err != nil {
		return err
	}
	bounds := partial.Options{Every: o.every}
	if opts.End != nil {
		bounds.End = *opts.End
	}
	if bounds.Start, err = of.first(cmd.Context()); err != nil {
		return err
	}
	if opts.Start != nil {
		if *opts.Start > bounds.Start {
			return fmt.Errorf("%s: the start is behind the first row, of %s", csv, cli.TimeJSON(bounds.Start))
		}
		bounds.Start = *opts.Start
	}
	bounds.End = max(bounds.End, bounds.Start)
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	fileOpts := fileOptions(partProvider + string(text))
	fileOpts.FS = nil // the folder of the file is synced
	err = cli.Replace(o.output, func(path string) error {
		return partialfile.Write(cmd.Context(), path, fileOpts, of, provide, bounds)
	})
	if err != nil {
		return err
	}
	cli.NoteWritten(cmd, o.output)
	l, err := openFile(cmd.Context(), o.output)
	if err != nil {
		return err
	}
	defer l.close()
	p := cli.Printer{W: cmd.OutOrStdout()}
	p.Printf("%s: %s of %s, from %s to %s, in %s; the rest is in %s, which must stay\n", cli.Printable(o.output), cli.Many(l.part.Intervals(), "interval"),
		cli.Many(l.Len(), "attribute"), cli.TimeJSON(l.Start()), cli.TimeJSON(l.End()), cli.Size(l.size), cli.Printable(csv))
	return p.Err
}

// openPart returns the history from an open file with a part of a CSV's states.
func openPart(ctx context.Context, name, provider string, r *file.Reader) (*recording, error) {
	var of changes
	if err := json.Unmarshal([]byte(strings.TrimPrefix(provider, partProvider)), &of); err != nil {
		return nil, fmt.Errorf("%s: its provider is damaged: %w", name, err)
	}
	of.path = foundName(of.File, name)
	info, err := os.Stat(of.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s keeps a part of %s, which is not there: %w", name, of.path, err)
	case err != nil:
		return nil, err
	case info.Size() != of.Bytes:
		return nil, fmt.Errorf("%s keeps a part of %s of %d bytes, which has %d now: import it again", name, of.path, of.Bytes, info.Size())
	}
	h, err := partial.Open(r.View, r.Note, &of, provide)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &recording{Names: h.Names(), asked: h, part: h, partOf: of.path}, ctx.Err()
}
