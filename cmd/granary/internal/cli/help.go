package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// NewHelp returns a command help, which prints the help of a sibling command: help top equals top --help.
// Cobra's own help command prints its own help if it does not know the command; this command returns an
// error.
func NewHelp(short string) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Parent()
			for _, name := range args {
				at := slices.IndexFunc(of.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if at < 0 {
					return UnknownCommand(of, name)
				}
				of = of.Commands()[at]
			}
			of.InitDefaultHelpFlag() // lists the flag --help
			return of.Help()
		},
	}
}
