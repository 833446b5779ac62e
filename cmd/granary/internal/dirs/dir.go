package dirs

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/disk"
)

// dirFlag adds --db, which is required.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "db", "", "the directory `DIR` that granary load made")
}

// given returns a usage error for a missing --db.
func given(dir string) error {
	if dir == "" {
		return cli.Usage(errors.New("--db DIR is missing: the directory of a store"))
	}
	return nil
}

// open opens a directory for reading.
func open(dir string) (*columnstore.Store, error) {
	store, err := columnstore.Open(columnstore.Options{Dir: dir, ReadOnly: true})
	return store, explain(dir, err)
}

// explain returns an error of a directory as one that names it and what to do.
func explain(dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--db %s: there is no store: %w", dir, err)
	case errors.Is(err, disk.ErrLocked):
		return fmt.Errorf("--db %s: another process has it open: wait until it ends", dir)
	}
	return fmt.Errorf("--db %s: %w", dir, err)
}
