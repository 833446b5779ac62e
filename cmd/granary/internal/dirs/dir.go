package dirs

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
)

// dirFlag adds --db. The command then begins with a usage error if it is missing.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "db", "", "the directory `DIR` that granary load made")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *dir == "" {
			return cli.Usage(errors.New("--db DIR is missing: the directory of a store"))
		}
		return nil
	}
}

// explain is dbdir.Explain for directories that may not have a store.
func explain(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--db %s: there is no store", dir)
	}
	return dbdir.Explain(dir, err)
}
