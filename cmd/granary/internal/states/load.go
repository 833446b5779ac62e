package states

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
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
