package dirs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
)

// NewBackup returns the command backup.
func NewBackup() *cobra.Command {
	var dir string
	var from server
	cmd := &cobra.Command{
		Use:   "backup {--db DIR | --from URL} TARGET",
		Short: "Copy a directory of profiles, whole",
		Long: `backup copies the directory DIR that 'granary load' filled into TARGET, a new or
empty directory, which is made with its parents. Other commands ask the copy
with --db TARGET.

Files never change, so on one file system they become links and take no space.
Damage of the disk is then in both: keep a copy on another disk too. The log is
copied. Questions may be asked meanwhile.

With --from URL the copy is that of the directory of a server, which takes
profiles meanwhile: it has all that was acknowledged before. A program that has
DIR open to write makes its backups with Store.Backup.

The copy is whole or cannot be opened: if backup is interrupted, remove TARGET.`,
		Example: `  granary backup --db profiles.db /mnt/backup/profiles-2026-01-31
  granary backup --from localhost:4040 /mnt/backup/profiles-2026-01-31
  granary top --db /mnt/backup/profiles-2026-01-31`,
		Args: cli.Arguments(1, 1, "name one directory to copy to"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if other, _ := dbdir.Other(args[0]); other != "" || from.url != "" && dbdir.IsStore(args[0]) { // an error is that of the backup
				return occupied(args[0])
			}
			of := dir
			if from.url != "" {
				of = args[0] // the copy is asked for its rows
				if err := from.fetch(cmd, args[0]); err != nil {
					return err
				}
			}
			store, err := dbdir.Open(of, "profiles", "granary load", columnstore.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() { err = cmp.Or(err, store.Close()) }()
			if from.url == "" {
				err = store.Backup(cmd.Context(), disk.System(args[0]))
			}
			switch {
			case errors.Is(err, fs.ErrExist):
				return occupied(args[0])
			case err != nil:
				return fmt.Errorf("%s: %w", args[0], err)
			}
			stats := store.Stats()
			p := cli.Printer{W: cmd.OutOrStdout()}
			p.Printf("Copied %s: %s in files, %s of log\n", cli.Many(stats.Rows, "row"), cli.Size(stats.FileBytes), cli.Size(stats.LogBytes))
			return p.Err
		},
	}
	dirFlag(cmd, &dir)
	from.add(cmd)
	return cmd
}

func occupied(dir string) error {
	return fmt.Errorf("%s: there are files in it already: want a new or an empty directory", dir)
}
