package states

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/trace"
)

// recording is a history that a command asks.
type recording struct {
	*trace.Recording
	// file is the file that it is read from, block by block; nil if it is in memory. provider is that of the
	// file, and size its bytes.
	file     *file.Reader
	provider string
	size     int64
}

// close closes the file. Nothing was written, so its errors say nothing.
func (r *recording) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

// openHistory opens a history file, loads a history from another one and shows the progress, or opens one of the
// directory of --db.
func openHistory(cmd *cobra.Command, name string) (*recording, error) {
	if dir, set := directory(cmd); set {
		r, err := openStored(cmd, dir, name)
		return &recording{Recording: r}, err
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
	return &recording{Recording: r}, nil
}

// stageProgress shows the progress of successive stages.
type stageProgress struct {
	w     io.Writer
	stage trace.Stage
	bar   *cli.SlowProgress
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
		p.bar.End()
	}
}
