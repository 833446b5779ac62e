package dirs

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/repair"
)

// NewVerify returns the command verify.
func NewVerify() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify --db DIR",
		Short: "Check all bytes of a directory of profiles",
		Long: `verify reads all files of the directory DIR and its log, compares each checksum,
and checks the contents as an opening does. It changes nothing.

If all is whole, it prints what is there and exits with 0. Otherwise it prints
each file that is damaged, what that costs, and exits with 1. 'granary repair'
then makes the directory usable without these files.

A log that ends amid an entry is whole: a crash leaves it so, and what is
missing was not durable. If the last segment of the log is gone as a whole,
verify does not notice. No process may have DIR open to write meanwhile.`,
		Example: `  granary verify --db profiles.db
  granary verify --db profiles.db --json | jq -r '.damages[].file'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bar := cli.NewLateProgress(cmd.ErrOrStderr(), "reading")
			report, err := repair.Verify(cmd.Context(), disk.System(dir), bar.Show)
			bar.End()
			if err != nil {
				return explain(dir, err)
			}
			err = cli.PrintAnswer(cmd.OutOrStdout(), asJSON, report, func(p *cli.Printer) { printReport(p, report) })
			if err == nil && !report.IsWhole() {
				err = fmt.Errorf("--db %s: %s damaged: granary repair makes the directory usable", dir, areDamaged(len(report.Damages)))
			}
			return err
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// noArguments is the argument check of commands that take only --db.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usage(errors.New("the directory is given as --db DIR, and there are no other arguments"))
	}
	return nil
}

// areDamaged returns a subject and a verb, such as "2 files are".
func areDamaged(files int) string {
	if files == 1 {
		return "a file is"
	}
	return cli.Number(files) + " files are"
}

// printReport prints the damage, and the totals of the files, the log and the rows.
func printReport(p *cli.Printer, r *repair.Report) {
	for _, d := range r.Damages {
		p.Printf("Damaged: %s\n", d.File)
		p.Printf("  %s\n", cli.Printable(d.Reason))
		if lost := d.String(); lost != "" {
			p.Printf("  it costs %s\n", cli.Printable(lost))
		} else {
			p.Printf("  it costs nothing: another copy is whole\n")
		}
	}
	p.Printf("Read:  %s of %s, %s of log of %s\n", cli.Many(r.Files, "file"), cli.Size(r.FileBytes), cli.Many(r.Segments, "segment"), cli.Size(r.LogBytes))
	p.Printf("Whole: %s, up to commit %d\n", cli.Many(r.Rows, "row"), r.Commit)
	if n := len(r.Aside); n > 0 {
		p.Printf("Aside: %s of earlier repairs, whose rows are missing: *%s\n", cli.Many(n, "file"), repair.Suffix)
	}
	if r.Torn > 0 {
		p.Printf("The log ends amid an entry: a crash cut off %s that were not durable\n", cli.Size(r.Torn))
	}
}

// NewRepair returns the command repair.
func NewRepair() *cobra.Command {
	var dir string
	var yes bool
	cmd := &cobra.Command{
		Use:   "repair --db DIR [--yes]",
		Short: "Make a damaged directory of profiles usable",
		Long: `repair reads the directory DIR as 'granary verify' does. With --yes it leaves a
directory that opens, with all that is not damaged. Without, it prints what that
would cost and changes nothing. What is damaged costs:

  rows-N       the rows of its time range that were in files
  dicts-N      the rows of its time ranges, in files and in the log
  states-N     its history, which becomes empty
  log-N        the commits from the damage on; those before it stay
  manifest-N   nothing, while its copy is whole

No byte of a damaged file goes: the file gets the suffix ` + repair.Suffix + `, and other
commands ignore it. Remove such files when you need them no more. A directory
without a whole manifest cannot be repaired. If there is a backup, it has more.`,
		Example: `  granary repair --db profiles.db
  granary repair --db profiles.db --yes`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			work := repair.Verify
			if yes {
				work = repair.Repair
			}
			bar := cli.NewLateProgress(cmd.ErrOrStderr(), "reading")
			report, err := work(cmd.Context(), disk.System(dir), bar.Show)
			bar.End()
			if report == nil || err != nil && !errors.Is(err, repair.ErrBeyondRepair) {
				return explain(dir, err)
			}
			p := cli.Printer{W: cmd.OutOrStdout()}
			printReport(&p, report)
			switch {
			case p.Err != nil:
			case err != nil:
				return explain(dir, err)
			case report.IsWhole():
				p.Printf("There is nothing to repair\n")
			case yes:
				p.Printf("Repaired: damaged files have the suffix %s\n", repair.Suffix)
			default:
				return fmt.Errorf("--db %s: nothing was changed: --yes repairs it at this cost", dir)
			}
			return p.Err
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&yes, "yes", false, "repair it")
	return cmd
}
