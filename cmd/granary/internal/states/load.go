package states

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/golang"
)

// close closes the files. It ignores their errors, because nothing was written.
func (r *recording) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
	for _, m := range r.members {
		m.close()
	}
}

// openHistory opens a history: in the directory of --db, or in a history file, or it loads another recording
// into memory and shows the progress.
func openHistory(cmd *cobra.Command, name string) (*recording, error) {
	if dir, set := directory(cmd); set {
		r, err := openStored(cmd, dir, name)
		if err != nil {
			return nil, err
		}
		return newRecording(r), nil
	}
	if isHistoryFile(name) {
		return openFile(cmd.Context(), name)
	}
	if err := checkSet(name); err != nil {
		return nil, err
	}
	bar := &stageProgress{w: cmd.ErrOrStderr()}
	load := func() (*trace.Recording, error) {
		if isGoTrace(name) {
			return loadGoTrace(cmd.Context(), name, bar.show)
		}
		return trace.Load(cmd.Context(), name, trace.LoadOptions{Stdin: os.Stdin, Progress: bar.show})
	}
	r, err := load()
	if err != nil {
		return nil, err
	}
	bar.end()
	return newRecording(r), nil
}

// stageProgress shows the progress of successive stages.
type stageProgress struct {
	w     io.Writer
	stage trace.Stage
	bar   *cli.Progress
}

func (p *stageProgress) show(stage trace.Stage, done, total int64) {
	if p.bar == nil || p.stage != stage {
		p.end()
		p.stage, p.bar = stage, cli.NewSlowProgress(p.w, string(stage))
	}
	p.bar.Show(done, total)
}

func (p *stageProgress) end() {
	if p.bar != nil {
		p.bar.Done()
	}
}

// histories lists the files that the commands read, for the error for another file.
const histories = "; a history is a set (NAME.ihs.gz), a history file, CSV whose name ends in .csv or .csv.gz, or a Go execution trace"

// checkSet returns an error if a name can only mean a set and there is no such set. The error says what the
// file with this name is, or that it does not exist.
func checkSet(name string) error {
	set := ihs.BaseName(name)
	if strings.HasPrefix(name, "synth:") || trace.IsCSV(name) || set != name || isGoTrace(name) {
		return nil // opening it reports an error with the given name
	}
	if _, err := os.Stat(set + ihs.IntervalsSuffix); err == nil {
		return nil
	}
	if scheme, _, ok := strings.Cut(name, "://"); ok && (scheme == "http" || scheme == "https") {
		return cli.Usage(fmt.Errorf("%s is a URL: curl -o FILE fetches it%s", name, histories))
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("%w, and there is no %s%s", err, set, ihs.IntervalsSuffix)
	case info.IsDir():
		return fmt.Errorf("%s is a directory: --db DIR names one that 'granary history load' wrote%s", name, histories)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file%s", name, histories)
	}
	if what := input.Describe(name); what != "" {
		return fmt.Errorf("%s: %s%s", name, what, histories)
	}
	return fmt.Errorf("%s is no history%s", name, histories)
}

// isGoTrace reports whether a file begins like a Go execution trace.
func isGoTrace(name string) bool {
	return golang.Magic(headOf(name, 16))
}

// loadGoTrace loads a history from a Go execution trace. The history takes less memory than the trace.
func loadGoTrace(ctx context.Context, name string, show func(trace.Stage, int64, int64)) (*trace.Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := trace.Build(func(to trace.Target) error {
		r, err := golang.NewReader(&shownReader{f: f, total: info.Size(), show: show}, math.MaxInt64)
		if err != nil {
			return err
		}
		return golang.Import(ctx, r, to)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// feedGoTrace returns the feeding for a Go execution trace.
func feedGoTrace(name string) feeding {
	return func(ctx context.Context, show func(trace.Stage, int64, int64), to trace.Target) (int, error) {
		r, err := loadGoTrace(ctx, name, show)
		if err != nil {
			return 0, err
		}
		return trace.ViewInto(ctx, r.View, func(done, total int64) { show(trace.Building, done, total) }, to)
	}
}

// shownReader shows the progress of reading a file.
type shownReader struct {
	f           io.Reader
	done, total int64
	show        func(stage trace.Stage, done, total int64)
}

func (r *shownReader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	r.done += int64(n)
	r.show(trace.Reading, r.done, r.total)
	return n, err
}
