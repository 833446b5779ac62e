package states

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/format"
	"github.com/granarydb/granary/trace/golang"
)

// stream is a recording that is read once, from its begin to its end: CSV or a recording of a tracer, in a file, on
// standard input or from a URL, compressed or not.
type stream struct {
	*input.Stream
	name   string
	format *format.Format // nil for CSV
	cmd    *cobra.Command
	show   showStage // unless nil

	sampled  func([]golang.Sampled) error // takes the CPU samples of a Go execution trace, unless nil
	isStored bool                         // what is left out is told, because nothing can ask for it later
}

// isOnce reports whether a name is standard input or a URL, which can be opened once.
func isOnce(name string) bool { return name == "-" || input.IsURL(name) }

// isStream reports whether the commands read a name as a stream.
func isStream(name string) bool {
	packed, _ := strings.CutSuffix(strings.ToLower(name), ".zst")
	return isOnce(name) || trace.IsCSV(packed) || isTrace(name)
}

// isTrace reports whether a file begins like a recording of a tracer, compressed or not, or is a folder of one.
func isTrace(name string) bool {
	_, is := format.Of(input.Head(name))
	return is || isCTF(name)
}

// openStream opens a stream, which its caller closes.
func openStream(cmd *cobra.Command, name string) (*stream, error) {
	in, err := openInput(cmd, name)
	if err != nil {
		return nil, err
	}
	if name == "-" {
		name = "standard input"
	}
	s := &stream{Stream: in, name: name, cmd: cmd}
	head, _ := in.Peek(format.PeekBytes) // what there is
	if f, is := format.Of(head); is {
		s.format = &f
	}
	return s, nil
}

func openInput(cmd *cobra.Command, name string) (*input.Stream, error) {
	if isCTF(name) {
		return openCTF(cmd, name)
	}
	return new(input.Web).Open(cmd.Context(), name)
}

// Read implements io.Reader. It shows the progress, if the size is known.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	if s.show != nil && s.Size > 0 {
		s.show(trace.Reading, s.Done(), s.Size)
	}
	return n, err
}

// addTo adds the rows of CSV to others.
func (s *stream) addTo(ctx context.Context, t *trace.CSV) error {
	if what := s.Describe(); what != "" {
		return fmt.Errorf("%s: %s%s", s.name, what, histories)
	}
	return t.Read(ctx, s.name, s)
}

// set reads CSV with the default settings.
func (s *stream) set(ctx context.Context) (*ihs.Set, error) {
	t := trace.NewCSV(trace.CSVOptions{})
	if err := s.addTo(ctx, t); err != nil {
		return nil, err
	}
	set, err := t.Set()
	if err != nil && !strings.Contains(err.Error(), s.name) {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return set, explainRow(err)
}

// feed writes the recording to a target. It does not count the intervals of a tracer's recording, which is streamed:
// it returns -1.
func (s *stream) feed(ctx context.Context, show showStage, to trace.Target) (int, error) {
	defer tight()()
	s.show, s.isStored = show, true
	building := func(done, total int64) { show(trace.Building, done, total) }
	if s.format != nil && s.isStrict() { // what is refused must not be written before
		r, err := s.load(ctx, show)
		if err != nil {
			return 0, err
		}
		return trace.ViewInto(ctx, r.View, building, to)
	}
	if s.format != nil {
		return -1, s.importTo(ctx, to)
	}
	set, err := s.set(ctx)
	if err != nil {
		return 0, err
	}
	return trace.SetInto(ctx, set, building, to)
}

// load builds a history in memory.
func (s *stream) load(ctx context.Context, show showStage) (*trace.Recording, error) {
	s.show = show
	return trace.Build(func(to trace.Target) error {
		if s.format != nil {
			return s.importTo(ctx, to)
		}
		_, err := s.feed(ctx, show, to)
		return err
	})
}

// tight lets the heap grow by a fifth between collections, not by its size, until restore is called: most of what a recording
// needs in memory is bytes, which cost a collection nothing.
func tight() (restore func()) {
	const percent = 20
	before := debug.SetGCPercent(percent)
	if before < percent { // GOGC, also off
		debug.SetGCPercent(before)
	}
	return func() { debug.SetGCPercent(before) }
}

func (s *stream) isStrict() bool {
	strict, _ := s.cmd.Flags().GetBool("strict") // false without the flag
	return strict
}

// importTo writes a tracer's recording to a target. It tells of what is left out, and of one that ends at a fault, or
// refuses that with --strict.
func (s *stream) importTo(ctx context.Context, to trace.Target) error {
	read := s.format.Import
	if s.sampled != nil {
		read = func(ctx context.Context, r io.Reader, to trace.Target) (trace.Outcome, error) {
			return golang.ImportWith(ctx, r, to, golang.ImportOptions{Samples: s.sampled})
		}
	}
	outcome, err := read(ctx, s, to)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if outcome.Lost != nil && s.isStrict() {
		return fmt.Errorf("%s: %w; without --strict, what is before %s is read", s.name, outcome.Lost, cli.TimeJSON(outcome.End))
	}
	tell(s.cmd.ErrOrStderr(), s.name, outcome, s.isStored)
	return nil
}

// tell says at which fault an import ended, and if all is to be told, what it left out.
func tell(w io.Writer, name string, outcome trace.Outcome, all bool) {
	for _, left := range outcome.LeftOut() {
		if !all {
			break
		}
		fmt.Fprintf(w, "granary: %s: left out: %d %s\n", name, left.Count, left.What)
	}
	if outcome.Lost != nil {
		fmt.Fprintf(w, "granary: %s: %v: it is read up to %s, and the rest of it is lost\n", name, outcome.Lost, cli.TimeJSON(outcome.End))
	}
}

// strictFlag adds --strict to a command that stores recordings.
func strictFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("strict", false, "refuse a recording that is cut, as a killed program leaves it")
}
