package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// deletion has the flags of delete.
type deletion struct {
	dir, tenant    string
	before         string
	selector, from string
	to             string
}

func newDelete() *cobra.Command {
	var d deletion
	cmd := &cobra.Command{
		Use:   "delete --db DIR {--before TIME | --selector LABELS}",
		Short: "Delete profiles of a directory, old ones or some by labels",
		Long: `delete removes profiles from the directory DIR that 'granary load' filled, and
prints the numbers of rows removed and left. It cannot be undone.

--before TIME removes whole time ranges, a quarter of an hour each as granary
load makes them: the profiles of the range that TIME is in stay. Profiles of a
removed range cannot be loaded again. A TIME after all profiles removes all. The
files of what is removed go when delete ends.

--selector LABELS removes the samples with these labels, at any time or at the
times from --from up to, not including, --to. It writes the files of their time
ranges again without them. The values of labels and the names of functions stay
in the dictionaries, which no answer lists, until --before removes their ranges.
Each removal is a line of DIR/deletions.jsonl.

Histories stay. A server deletes with POST /delete and the parameters selector,
type, from and to, if it was started with --allow-delete.`,
		Example: `  granary delete --db profiles.db --before -30d
  granary delete --db profiles.db --before 2026-01-31
  granary delete --db profiles.db --selector '{service_name="old"}'
  granary delete --db profiles.db --selector '{user="17"}' --from -7d`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("db") {
				return cli.Usage(errors.New("--db DIR is missing: the directory to delete from"))
			}
			if cmd.Flags().Changed("selector") {
				return d.samples(cmd)
			}
			return d.ranges(cmd)
		},
	}
	cmd.Flags().StringVar(&d.dir, "db", "", "delete from the directory `DIR`")
	cli.AddTenant(cmd.Flags(), &d.tenant, "delete profiles of the tenant `NAME`, and of no other (default: those without a tenant)")
	cmd.Flags().StringVar(&d.before, "before", "", "delete profiles before `TIME`: 2026-01-31T09:00:00Z, 2026-01-31 (local), 1769850000 (Unix), -30d (before now), or latest-30d (before the newest profile)")
	cmd.Flags().StringVar(&d.selector, "selector", "", "delete samples with these `LABELS`, in the syntax of Prometheus: '{job=\"api\"}'; {} is all")
	cmd.Flags().StringVar(&d.from, "from", "", "with --selector, delete samples of `TIME` or later")
	cmd.Flags().StringVar(&d.to, "to", "", "with --selector, delete samples before `TIME`")
	return cmd
}

// in opens the directory, deletes, and prints how many rows did go.
func (d *deletion) in(cmd *cobra.Command, remove func(context.Context, *loaded) (rows int64, err error)) (err error) {
	ctx, source := cmd.Context(), inputSource{db: d.dir, tenant: d.tenant}
	l, err := openDB(ctx, columnstore.Options{Manual: true}, source)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, source.explain(l.Close())) }() // Close flushes the remaining rows
	rows, err := remove(ctx, l)
	if err != nil {
		return source.explain(err)
	}
	p := cli.Printer{W: cmd.OutOrStdout()}
	p.Printf("Deleted %s, %s left\n", cli.Many(rows, "row"), cli.Number(l.db.Table().Stats().Rows))
	return p.Err
}

// ranges deletes whole time ranges.
func (d *deletion) ranges(cmd *cobra.Command) error {
	if d.before == "" {
		return cli.Usage(errors.New("--before TIME is missing: profiles before it are deleted; or --selector LABELS, to delete those with these labels"))
	}
	if d.from != "" || d.to != "" {
		return cli.Usage(errors.New("--from and --to are for --selector; --selector {} means all labels"))
	}
	before, err := parseMoment("before", d.before)
	if err != nil {
		return err
	}
	return d.in(cmd, func(ctx context.Context, l *loaded) (int64, error) {
		newest := int64(0)
		if before.Base == timetext.Latest {
			if err := l.store.View(ctx, func(snap *columnstore.Snapshot) (err error) {
				_, newest, err = spanOfTimes(ctx, l.db, snap)
				return err
			}); err != nil {
				return 0, err
			}
		}
		was := l.db.Table().Stats().DroppedRows
		_, err := l.db.Table().DropBefore(ctx, before.bound(time.Now(), newest))
		return l.db.Table().Stats().DroppedRows - was, err
	})
}

// samples deletes the samples with some labels.
func (d *deletion) samples(cmd *cobra.Command) error {
	if d.before != "" {
		return cli.Usage(errors.New("--before and --selector: choose one; --to bounds the times of --selector"))
	}
	if strings.TrimSpace(d.selector) == "" {
		return cli.Usage(errors.New("--selector is empty: {} deletes all profiles"))
	}
	of := selection{selector: d.selector, from: d.from, to: d.to}
	asked, err := of.read()
	if err != nil {
		return err
	}
	return d.in(cmd, func(ctx context.Context, l *loaded) (int64, error) {
		var q profile.Query
		err := l.store.View(ctx, func(snap *columnstore.Snapshot) (err error) {
			q, err = asked.at(ctx, l.db, snap, &of)
			return err
		})
		if err != nil {
			return 0, err
		}
		rows, err := l.db.Delete(ctx, q)
		if rows > 0 {
			err = errors.Join(err, d.log(q, rows, err))
		}
		return rows, err
	})
}

// log adds a deletion to the list in the directory.
func (d *deletion) log(q profile.Query, rows int64, failed error) error {
	line := server.Deletion{Time: time.Now(), Tenant: cmp.Or(d.tenant, profile.Anonymous), Selector: d.selector, From: q.From, To: q.To, Rows: rows}
	if failed != nil {
		line.Error = failed.Error()
	}
	return dbdir.LogDeletion(d.dir, line)
}
