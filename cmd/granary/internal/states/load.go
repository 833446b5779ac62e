package states

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/trace"
)

// openHistory loads a history from a file and shows the progress, or from the directory of --db.
func openHistory(cmd *cobra.Command, name string) (*trace.Recording, error) {
	if dir, set := directory(cmd); set {
		return openStored(cmd, dir, name)
	}
	bar := &stageProgress{w: cmd.ErrOrStderr()}
	r, err := trace.Load(cmd.Context(), name, trace.LoadOptions{Stdin: os.Stdin, Progress: bar.show})
	if err != nil {
		return nil, err
	}
	bar.end()
	return r, nil
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
