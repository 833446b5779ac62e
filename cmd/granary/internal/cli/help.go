package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// NewHelp returns a command help, which prints the help of a command beside it: help top is the
// same as top --help. That of cobra prints its own help for a command that it does not know.
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
			of.InitDefaultHelpFlag() // the help lists the flag
			return of.Help()
		},
	}
}
