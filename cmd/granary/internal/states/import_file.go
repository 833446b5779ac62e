package states

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/trace"
)

// importFile streams a recording, except CSV, into a history file. in is the stream, if it is open.
func importFile(cmd *cobra.Command, output, name string, in *stream) error {
	if err := spareFile(output, []string{name}); err != nil {
		return err
	}
	if in != nil {
		return writeFile(cmd, output, in.feed)
	}
	feed, done, err := feedOf(cmd, name)
	if err != nil {
		return err
	}
	defer done()
	return writeFile(cmd, output, feed)
}

// spareFile returns a usage error if output is a file of an input.
func spareFile(output string, names []string) error {
	return cli.RefuseInput(output, func(yield func(string) bool) {
		for _, name := range names {
			set := ihs.BaseName(name)
			if !yield(name) || !yield(set+ihs.IntervalsSuffix) || !yield(set+ihs.AttributesSuffix) {
				return
			}
		}
	})
}

// feedOf returns the feeding for a recording, which reads it as the other commands do. done closes the
// recording.
func feedOf(cmd *cobra.Command, name string) (feed feeding, done func(), err error) {
	if isHistoryFile(name) {
		l, err := openFile(cmd.Context(), name)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, show showStage, to trace.Target) (int, error) {
			view, err := l.view(ctx, l.All(), span{l.Start(), l.End()})
			if err != nil {
				return 0, err
			}
			return trace.ViewInto(ctx, view, func(done, total int64) { show(trace.Reading, done, total) }, to)
		}, l.close, nil
	}
	if isStream(name) {
		s, err := openStream(cmd, name)
		if err != nil {
			return nil, nil, err
		}
		return s.feed, func() { _ = s.Close() }, nil
	}
	if err := checkSet(name); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, show showStage, to trace.Target) (int, error) {
		return trace.LoadInto(ctx, name, trace.LoadOptions{Progress: show}, to)
	}, func() {}, nil
}

// writeFile writes a history file, and prints a summary.
func writeFile(cmd *cobra.Command, output string, feed feeding) error {
	intervals := 0
	err := cli.Replace(output, func(path string) error {
		bar := &stageProgress{w: cmd.ErrOrStderr()}
		to := fileTarget{path: path}
		n, err := feed(cmd.Context(), bar.show, trace.Target{Begin: to.begin, Commit: to.commit})
		if err != nil {
			return to.abort(err)
		}
		bar.end()
		intervals = n
		err = to.summarize()
		if err == nil && intervals < 0 {
			intervals, err = intervalsOf(to.view)
		}
		if err != nil {
			return errors.Join(err, to.w.Discard())
		}
		return to.w.Close()
	})
	if err != nil {
		return err
	}
	cli.NoteWritten(cmd, output)
	l, err := openFile(cmd.Context(), output)
	if err != nil {
		return err
	}
	defer l.close()
	p := cli.Printer{W: cmd.OutOrStdout()}
	p.Printf("%s: %s of %s, from %s to %s, in %s\n", output, cli.Many(intervals, "interval"),
		cli.Many(l.Len(), "attribute"), cli.TimeJSON(l.Start()), cli.TimeJSON(l.End()), cli.Size(l.size))
	return p.Err
}

// feeding writes a recording to a target, and returns the number of its intervals, or -1 if it did not count them.
type feeding func(ctx context.Context, show showStage, to trace.Target) (intervals int, err error)

// writeCache is the bytes of written blocks that stay in memory. They are read once more, in the order of time, for the
// summaries.
const writeCache = 8 << 20

// fileTarget writes a history file.
type fileTarget struct {
	path string
	w    *file.Writer // nil before the first transaction
	tx   *history.Draft
	view *history.View // view of the last transaction
}

// begin begins a transaction. The first call creates the file.
func (f *fileTarget) begin(start int64) (w *history.Writer, err error) {
	if f.w == nil {
		o := fileOptions(ourProvider + providerVersion)
		o.FS = nil // the folder of the file is synced
		o.Cache = min(o.Cache, writeCache)
		o.History.Start = start
		if f.w, err = file.Create(f.path, o); err != nil {
			return nil, err
		}
	}
	if f.tx, err = f.w.History.Begin(); err != nil {
		return nil, err
	}
	return f.tx.Writer, nil
}

func (f *fileTarget) commit() (err error) {
	f.view, err = f.tx.Commit()
	return err
}

// abort removes the file after err, and returns err.
func (f *fileTarget) abort(err error) error {
	if f.w == nil {
		return err
	}
	if f.tx != nil {
		f.tx.Abort()
	}
	return errors.Join(err, f.w.Discard())
}
