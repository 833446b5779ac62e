package dirs

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/repair"
)

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
			if err := given(dir); err != nil {
				return err
			}
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
			out := cmd.OutOrStdout()
			if printErr := printReport(out, report); printErr != nil {
				return printErr
			}
			p := cli.Printer{W: out}
			switch {
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
