package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg"
)

// profilesTable is the name of the profiles table in a directory.
const profilesTable = "profiles"

// sealer is the command seal with its flags' values.
type sealer struct {
	config  *iceberg.Config
	node    string
	dir     string
	address string
	before  string
	every   time.Duration
	now     func() time.Time
}

func newSeal(c *iceberg.Config) *cobra.Command {
	s := &sealer{config: c, now: time.Now}
	cmd := &cobra.Command{
		Use: "seal", Short: "Add the rows of a directory, each exactly once",
		Long: `seal adds the rows of a Granary directory to the table, in units of a range of time:
one file and one commit each. Units that are in the table already are left out.
Repeat it, from cron for instance; after a failure too.

The directory is opened for reading only: that of a server which does not run, or
a backup (granary backup). A unit is closed for good: rows that came into the
directory later, with times of a unit that is in the table, do not get there. So
--before must leave out the times for which rows can still come. Small units take
more bytes a row: 200,000 rows take twice as many as four million.`,
		Example: `  granary-lake seal --catalog sqlite:lake.db --node db-1 --db /var/lib/granary-backup
  granary-lake seal --catalog sqlite:lake.db --node db-1 --db backup --before 2026-03-01T00:00:00Z`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), cmd.ErrOrStderr()) },
	}
	f := cmd.Flags()
	f.StringVar(&s.node, "node", "", "the `ID` of the node: letters, digits, - and _; one for each directory, always the same")
	f.StringVar(&s.dir, "db", "", "the `DIR`ectory of the node, or a backup of it")
	f.StringVar(&s.address, "address", "", "the `ADDRESS` where the node answers questions about newer rows")
	f.StringVar(&s.before, "before", "", "seal rows before this `TIME`: RFC 3339, a date (local), Unix seconds, or a duration before now such as -2h; default: an hour ago")
	addDuration(cmd.Flags(), &s.every, "every", time.Hour, "the `DURATION` of a unit: whole buckets, a day at most; keep it for all seals of a node")
	return cmd
}

func (s *sealer) run(ctx context.Context, notes io.Writer) error {
	before := s.now().Add(-time.Hour)
	if s.before != "" {
		at, err := parseTime("--before", s.before, s.now())
		if err != nil {
			return err
		}
		before = time.Unix(0, at)
	}
	switch {
	case before.After(s.now().Add(24 * time.Hour)):
		return fmt.Errorf("%w: --before %s is more than a day ahead", errUsage, s.before)
	case s.node == "" || s.dir == "":
		return fmt.Errorf("%w: seal needs --node and --db", errUsage)
	case s.every < time.Second || s.every > 24*time.Hour || (24*time.Hour)%s.every != 0 || s.every%time.Second != 0:
		return fmt.Errorf("%w: --every %v: want whole seconds, of which a day has a whole number", errUsage, s.every)
	}
	store, err := columnstore.Open(columnstore.Options{Dir: s.dir, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("directory %s: %w", s.dir, err)
	}
	err = with(ctx, s.config, func(l *iceberg.Lake) error { return s.seal(ctx, l, store, before, notes) })
	return errors.Join(err, store.Close())
}

// seal commits the units from the node's place up to a time. A seal's number is its unit's end in seconds
// since 1970, so that it does not depend on the directory's contents.
func (s *sealer) seal(ctx context.Context, l *iceberg.Lake, store *columnstore.Store, before time.Time, notes io.Writer) error {
	table := store.Table(profilesTable)
	if table == nil {
		return fmt.Errorf("directory %s has no profiles", s.dir)
	}
	snap, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	if _, last, err := table.Units(snap); err != nil || last > 0 {
		return cmp.Or(err, fmt.Errorf("directory %s is sealed by serve, up to unit %d: its units are other ones", s.dir, last))
	}
	if err := l.Register(ctx, s.node, s.address); err != nil {
		return err
	}
	nodes, _, err := l.Nodes(ctx)
	if err != nil {
		return err
	}
	from := store.Stats().Oldest
	if from.IsZero() {
		return nil
	}
	from = from.Truncate(s.every)
	i := slices.IndexFunc(nodes, func(n iceberg.Node) bool { return n.ID == s.node })
	if i < 0 {
		return fmt.Errorf("node %s was forgotten meanwhile", s.node)
	}
	node := nodes[i]
	if node.Unit() > from.Unix() {
		from = time.Unix(node.Unit(), 0)
	}
	for to := from.Add(s.every).Truncate(s.every); !to.After(before); to = to.Add(s.every) {
		u := iceberg.Unit{Node: s.node, Seal: node.SealOf(to.Unix()), From: from.UnixNano(), To: to.UnixNano(), Table: table, Snapshot: snap}
		from = to
		var files *iceberg.Files
		err := limited(func() (err error) {
			files, err = l.Write(ctx, u)
			return err
		})
		if err != nil {
			return err
		}
		if files.Rows == 0 {
			continue
		}
		added, err := l.Commit(ctx, files)
		if err != nil {
			return err
		}
		if added {
			fmt.Fprintf(notes, "%s to %s: %d rows, %d bytes\n", u.Node, to.UTC().Format(time.RFC3339), files.Rows, files.Bytes)
		}
	}
	return nil
}
