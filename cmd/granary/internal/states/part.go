package states

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/partial/partialfile"
	"github.com/granarydb/granary/trace"
)

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
