package states

import (
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// NewCommand returns the command history.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Query recorded state histories: which state, when, for how long",
		Long: `history queries recordings: the state of each attribute of a system (a thread, a
CPU, a queue) at every instant. They are interval sets, CSV, or history files,
which may be larger than memory.

  granary history import -o run states.csv    convert CSV to a set
  granary history import -o run.history run   convert a set to a history file
  granary history verify run.history          are all its bytes as written?
  granary history info run                    the size and attributes of a set
  granary history at run CPUs/0 +1.5s         one attribute at one instant
  granary history slice run +1.5s             all attributes at one instant
  granary history range run CPUs/0            one attribute over time
  granary history stats run                   how long states last
  granary history sample run --pixels 100     all attributes at 100 instants
  granary history plot run -o run.svg         all attributes as a picture
  granary history load --db run.db run        store a set in a directory

Here run stands for any FILE. synth:1000:100 needs no recording, and 'granary
demo --trace trace.out' makes one.

` + askedHelp + attributeHelp + patternHelp + timeHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       cli.NoCommand,
	}
	cmd.AddCommand(newImport(), newLoad(), newVerify(), newInfo(), newAt(), newSlice(), newRange(),
		newStats(), newSample(), newPlot(), cli.NewHelp("Show the help of a history command"))
	return cmd
}
