package states

import (
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/spf13/cobra"
)

// oneFile is the argument check of commands that take one file.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usage(fmt.Errorf("name one file, not %d", len(args)))
	}
	return nil
}

// arguments returns an argument check for commands with these arguments. The flag parser may have read
// the last, a time, as a flag (see agoFlags).
func arguments(behind *string, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if want := len(strings.Fields(names)); len(withTime(args, *behind)) != want {
			return cli.Usage(fmt.Errorf("want %d arguments, %s, not %d", want, names, len(withTime(args, *behind))))
		}
		return nil
	}
}

// withTime returns the arguments, with the time that the parser read as a flag.
func withTime(args []string, behind string) []string {
	if behind == "" {
		return args
	}
	return append(slices.Clip(args), behind)
}
