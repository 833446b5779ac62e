package states

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/disk"
)

func newVerify() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE",
		Short: "Check all bytes of a history file",
		Long: `verify reads a history file, which 'granary history import -o RUN.history' or a
program wrote, and compares the checksum of each block. If all are right, it
reads each interval too.

It prints each block that is damaged. Questions that need such a block are
errors, and others are answered. Summaries that are damaged are made again for
each picture. The exit code is

  0    all is whole
  1    blocks or summaries are damaged, or the file was cut, or its writer was
       stopped or is at work: the states behind the last Sync are missing. Also
       1: the file cannot be read, or is no history file
  2    a usage error
  130  an interrupt

A file in which the index is damaged cannot be opened: import it again. The
directories of --db have 'granary verify'.`,
		Example: `  granary history verify run.history
  granary history verify --json run.history | jq '.damages[].offset'`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return verifyFile(cmd, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// fileReport is the answer of history verify, and its JSON form.
type fileReport struct {
	File    string       `json:"file"`
	Blocks  int          `json:"blocks"`
	Bytes   int64        `json:"bytes"`
	Damages []fileDamage `json:"damages"`
	Lost    int64        `json:"lost_bytes"`
	// Summaries is the damage of the summaries. Commands compute damaged summaries again.
	Summaries string `json:"damaged_summaries,omitempty"`
	// Intervals is 0 if a block is damaged, because the intervals are then not read.
	Intervals int `json:"intervals"`
}

// fileDamage is a block that cannot be used.
type fileDamage struct {
	Offset int64  `json:"offset,omitempty"` // offset of the block
	Reason string `json:"reason"`
}

func verifyFile(cmd *cobra.Command, name string, asJSON bool) error {
	if _, err := os.Stat(name); err != nil {
		return err
	}
	if !isHistoryFile(name) {
		return cli.Usage(fmt.Errorf("%s is no history file: verify checks the files that granary history import -o RUN.history writes", name))
	}
	l, err := openFile(cmd.Context(), name)
	if err != nil {
		return err
	}
	defer l.close()
	if l.file == nil {
		return cli.Usage(fmt.Errorf("%s names several history files: verify each", name))
	}
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "reading")
	r, err := l.verify(cmd.Context(), bar.Show)
	bar.End()
	if err != nil {
		return err
	}
	r.File = name
	return cmp.Or(cli.PrintAnswer(cmd.OutOrStdout(), asJSON, r, r.print), r.problem())
}

// verify reads all blocks of a file, and all intervals if no block is damaged. The error is ctx's error.
func (r *recording) verify(ctx context.Context, progress func(done, total int64)) (*fileReport, error) {
	blocks, _, _ := r.file.Blocks()
	out := &fileReport{Blocks: blocks, Bytes: r.size, Damages: []fileDamage{}, Lost: r.file.Lost}
	for i := range blocks {
		progress(int64(i), int64(blocks))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.file.VerifyBlock(i); err != nil {
			out.Damages = append(out.Damages, damageOf(err))
		}
	}
	progress(int64(blocks), int64(blocks))
	if _, err := r.summaries(); err != nil {
		out.Summaries = damageOf(err).Reason
	}
	if err := ctx.Err(); err != nil { // blocks that were not read are not damaged
		return nil, err
	}
	if len(out.Damages) > 0 {
		return out, nil
	}
	if err := r.count(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		out.Damages = append(out.Damages, damageOf(err))
	}
	if r.counts != nil {
		out.Intervals = r.counts.Intervals
	}
	return out, nil
}

func damageOf(err error) fileDamage {
	if d, ok := errors.AsType[*disk.DamagedError](err); ok {
		return fileDamage{d.Offset, d.Reason}
	}
	return fileDamage{Reason: err.Error()}
}

func (r *fileReport) print(p *cli.Printer) {
	for _, d := range r.Damages {
		if d.Offset > 0 {
			p.Printf("Damaged: byte %d: %s\n", d.Offset, cli.Printable(d.Reason))
		} else {
			p.Printf("Damaged: %s\n", cli.Printable(d.Reason))
		}
	}
	if r.Summaries != "" {
		p.Printf("Damaged: the summaries: %s\n", cli.Printable(r.Summaries))
	}
	if r.Lost > 0 {
		p.Printf("Lost:    %s behind the last Sync that is whole\n", cli.Size(r.Lost))
	}
	p.Printf("Read:    %s of %s\n", cli.Many(r.Blocks, "block"), cli.Size(r.Bytes))
	if len(r.Damages) == 0 {
		p.Printf("Whole:   %s\n", cli.Many(r.Intervals, "interval"))
	}
}

// problem returns an error if the file is damaged or has bytes after its last Sync.
func (r *fileReport) problem() error {
	switch {
	case len(r.Damages) > 0:
		return fmt.Errorf("%s: %s: questions that need them are errors; import it again", r.File, areDamaged(len(r.Damages), r.Blocks))
	case r.Summaries != "":
		return fmt.Errorf("%s: the summaries are damaged: pictures make them again; import it again", r.File)
	case r.Lost > 0:
		return fmt.Errorf("%s: %s at its end belong to no Sync: the file was cut or damaged there, or its writer was stopped or is at work", r.File, cli.Size(r.Lost))
	}
	return nil
}

// areDamaged returns a phrase such as "1 of 3 blocks is damaged".
func areDamaged(damaged, blocks int) string {
	verb := "are"
	if damaged == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s of %s %s damaged", cli.Number(damaged), cli.Many(blocks, "block"), verb)
}
