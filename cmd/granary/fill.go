package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/profile"
)

func newLoad() *cobra.Command {
	var f inputFlags
	var dir string
	var budget int64
	var sync columnstore.SyncPolicy
	cmd := &cobra.Command{
		Use:   "load --db DIR [flags] INPUT...",
		Short: "Store profiles in a directory, for questions later",
		Long: `load adds profiles to the directory DIR, which is made if there is none. Other
commands ask it with --db DIR. load prints the profiles and rows that it stored,
and the bytes that the directory takes.

A profile is stored as a whole or not at all. One that is loaded twice counts
twice: the label file of the second has the suffix (2). After a load was
interrupted or killed, 'granary labels --db DIR --name file' lists the profiles
that are stored.

--sync chooses when profiles are made durable. When load ends without an error,
all are durable. If the machine crashes before, the loss is:

` + dbdir.SyncHelp() + `
If the process alone is killed, it loses the last moment, and with each nothing.
What is left is always the first profiles, in the order of the load.

One process at a time can write to a directory, and none asks it meanwhile. Its
profiles must fit into memory.

` + inputsHelp,
		Example: `  granary load --db /var/lib/profiles cpu.pb.gz heaps/
  granary load --db profiles.db --label job=api http://api:6060/debug/pprof/heap
  granary top --db profiles.db --from latest-1h`,
		Args: someInputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("db") {
				return cli.Usage(errors.New("--db DIR is missing: the directory to store the profiles in"))
			}
			source, err := f.source()
			if err != nil {
				return err
			}
			source.db = dir
			return fill(cmd, source, columnstore.Options{Dir: dir, DiskBudget: budget, Sync: sync}, args)
		},
	}
	cmd.Flags().StringVar(&dir, "db", "", "store the profiles in the directory `DIR`")
	dbdir.AddSync(cmd.Flags(), &sync)
	cli.AddDiskBudget(cmd, &budget)
	f.flags(cmd)
	return cmd
}

// fill adds inputs to a directory. If an input was stored, it prints the stored rows, also after a failed input.
func fill(cmd *cobra.Command, source inputSource, opts columnstore.Options, args []string) error {
	ctx := cmd.Context()
	if err := dbdir.CheckNew(source.db); err != nil {
		return err
	}
	l, err := open(opts, source)
	if err != nil {
		return source.explain(err)
	}
	if err := l.knowFiles(ctx); err != nil {
		return cmp.Or(err, l.Close())
	}
	total := int64(0)
	for _, arg := range args {
		for _, err := range input.Names(arg) {
			if err == nil {
				total++
			}
		}
	}
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "loading")
	err = l.addAll(ctx, cmd.ErrOrStderr(), args, func() error {
		bar.Show(int64(l.good+l.failed), total)
		return nil
	})
	bar.End()
	rows := l.store.Stats().Rows
	err = cmp.Or(err, source.explain(l.Close()))
	if l.good > 0 {
		err = cmp.Or(err, l.printStored(cmd.OutOrStdout(), rows))
	}
	return cmp.Or(err, l.failure())
}

// knowFiles reads the names of the stored inputs, so that an input that is loaded again gets another name.
func (l *loaded) knowFiles(ctx context.Context) error {
	return l.store.View(ctx, func(snap *columnstore.Snapshot) error {
		names, err := l.db.LabelValues(ctx, snap, labelFile, profile.Query{})
		for _, name := range names {
			l.labels.Of(name)
		}
		return err
	})
}

// printStored prints the result of a load into a directory that now has `rows` rows.
func (l *loaded) printStored(w io.Writer, rows int64) error {
	bytes, err := dbdir.Size(l.source.db)
	if err != nil {
		return err
	}
	p := cli.Printer{W: w}
	p.Printf("Stored %s, %s\n", cli.Many(l.good, "profile"), cli.Many(l.rows, "row"))
	p.Printf("%s has %s in %s\n", cli.Printable(l.source.db), cli.Many(rows, "row"), cli.Size(bytes))
	return p.Err
}
