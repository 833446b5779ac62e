package main

import (
	"cmp"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/timetext"
)

func newDelete() *cobra.Command {
	var dir, tenant, before string
	cmd := &cobra.Command{
		Use:   "delete --db DIR --before TIME",
		Short: "Delete the old profiles of a directory",
		Long: `delete removes the profiles before TIME from the directory DIR that 'granary
load' filled. It removes whole time ranges, a quarter of an hour each as granary
load makes them: the profiles of the range that TIME is in stay. It prints the
rows that it removed and those that are left.

Profiles of a removed range cannot be loaded again. A TIME after all profiles
removes all. Histories stay. The files of what is removed go when delete ends.
It cannot be undone.`,
		Example: `  granary delete --db profiles.db --before -30d
  granary delete --db profiles.db --before 2026-01-31`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("db") {
				return cli.Usage(errors.New("--db DIR is missing: the directory to delete from"))
			}
			if before == "" {
				return cli.Usage(errors.New("--before TIME is missing: profiles before it are deleted"))
			}
			at, err := parseMoment("before", before)
			if err != nil {
				return err
			}
			return deleteBefore(cmd, inputSource{db: dir, tenant: tenant}, at)
		},
	}
	cmd.Flags().StringVar(&dir, "db", "", "delete from the directory `DIR`")
	cli.AddTenant(cmd.Flags(), &tenant, "delete profiles of the tenant `NAME`, and of no other (default: those without a tenant)")
	cmd.Flags().StringVar(&before, "before", "", "delete profiles before `TIME`: 2026-01-31T09:00:00Z, 2026-01-31 (local), 1769850000 (Unix), -30d (before now), or latest-30d (before the newest profile)")
	return cmd
}

func deleteBefore(cmd *cobra.Command, source inputSource, before moment) (err error) {
	ctx := cmd.Context()
	l, err := openDB(ctx, columnstore.Options{Manual: true}, source)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, source.explain(l.Close())) }() // Close flushes the remaining rows
	newest := int64(0)
	if before.Base == timetext.Latest {
		if err := l.store.View(ctx, func(snap *columnstore.Snapshot) error {
			_, newest, err = spanOfTimes(ctx, l.db, snap)
			return err
		}); err != nil {
			return err
		}
	}
	was := l.db.Table().Stats().DroppedRows
	if _, err := l.db.Table().DropBefore(ctx, before.bound(time.Now(), newest)); err != nil {
		return source.explain(err)
	}
	stats := l.db.Table().Stats()
	p := cli.Printer{W: cmd.OutOrStdout()}
	p.Printf("Deleted %s, %s left\n", cli.Many(stats.DroppedRows-was, "row"), cli.Number(stats.Rows))
	return p.Err
}
