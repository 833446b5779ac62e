package states

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/trace"
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
	return withProgress(cmd, func(show showStage) (*trace.Recording, error) { return load(cmd, name, show) })
}

// showStage shows the progress of a stage.
type showStage = func(stage trace.Stage, done, total int64)

// withProgress loads a recording, and shows the progress meanwhile.
func withProgress(cmd *cobra.Command, load func(show showStage) (*trace.Recording, error)) (*recording, error) {
	bar := &stageProgress{w: cmd.ErrOrStderr()}
	r, err := load(bar.show)
	if err != nil {
		return nil, err
	}
	bar.end()
	return newRecording(r), nil
}

// load loads a stream, a set or a synthetic history into memory.
func load(cmd *cobra.Command, name string, show showStage) (*trace.Recording, error) {
	if isStream(name) {
		s, err := openStream(cmd, name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.Close() }()
		return s.load(cmd.Context(), show)
	}
	if err := checkSet(name); err != nil {
		return nil, err
	}
	return trace.Load(cmd.Context(), name, trace.LoadOptions{Progress: show})
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
const histories = "; a history is a set (NAME.ihs.gz), a history file, CSV whose name ends in .csv, .csv.gz or .csv.zst, a trace of Go, Chrome or Perfetto, spans of OTLP, a JFR recording, or events of the Linux kernel as text"

// checkSet returns an error if a name can only mean a set and there is no such set. The error says what the
// file with this name is, or that it does not exist.
func checkSet(name string) error {
	set := ihs.BaseName(name)
	if strings.HasPrefix(name, "synth:") || set != name {
		return nil // opening it reports an error with the given name
	}
	if _, err := os.Stat(set + ihs.IntervalsSuffix); err == nil {
		return nil
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
