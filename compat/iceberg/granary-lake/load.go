package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	granary "github.com/granarydb/granary/cmd/granary/node"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg"
	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/profile"
)

// loader is the command load with its flags' values.
type loader struct {
	config   *iceberg.Config
	dir      string
	memory   int64
	from, to string
	token    string // name of a file
	opts     iceberg.LoadOptions
	now      func() time.Time
}

func newLoad(c *iceberg.Config) *cobra.Command {
	l := &loader{config: c, now: time.Now}
	cmd := &cobra.Command{
		Use: "load", Short: "Fill a directory with rows of the table and of its nodes, for the page and all commands",
		Long: `load reads a range of time from the table, and what its nodes have and it lacks, of one
state, each row once. It writes the rows into a new directory, which granary serve
shows as a page, and granary top, labels, diff and others ask with --db.

Rows of a table without tables of symbols (init --symbols), and those of nodes, have
names of functions, and neither lines nor binaries. --rows bounds what is taken;
--label takes less of it.`,
		Example: `  granary-lake load --catalog sqlite:lake.db --from -48h --to -24h --label job=api --db yesterday
  granary serve --db yesterday   # its page is at http://localhost:4040`,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context(), cmd.ErrOrStderr()) },
	}
	f := cmd.Flags()
	f.StringVar(&l.dir, "db", "", "the `DIR`ectory to write; one that has profiles is refused")
	f.Int64Var(&l.memory, "memory-budget", 1<<30, "`BYTES` of memory for the store")
	f.StringVar(&l.from, "from", "-1h", "the `TIME` of the first rows: RFC 3339, a date (local), Unix seconds, or a duration before now such as -24h or -7d")
	f.StringVar(&l.to, "to", "", "the `TIME` that rows are before; default: now")
	f.StringToStringVar(&l.opts.Labels, "label", nil, "take rows with this label alone, `NAME=VALUE`; may be repeated")
	f.Int64Var(&l.opts.Rows, "rows", 20_000_000, "the `NUMBER` of rows that are taken at most; 0 is no bound")
	f.StringVar(&l.token, "query-token-file", "", "`FILE` with the token to ask nodes with")
	f.BoolVar(&l.opts.TableOnly, "table-only", false, "leave out what nodes have and the table lacks: they need not run")
	return cmd
}

func (l *loader) run(ctx context.Context, notes io.Writer) error {
	var err error
	now := l.now()
	if l.opts.From, err = parseTime("--from", l.from, now); err != nil {
		return err
	}
	l.opts.To = now.UnixNano()
	if l.to != "" {
		if l.opts.To, err = parseTime("--to", l.to, now); err != nil {
			return err
		}
	}
	switch {
	case l.dir == "":
		return fmt.Errorf("%w: load needs --db", errUsage)
	case l.opts.From >= l.opts.To:
		return fmt.Errorf("%w: --from %s is not before --to", errUsage, l.from)
	case l.memory <= 0 || l.opts.Rows < 0:
		return fmt.Errorf("%w: --memory-budget is above 0, and --rows not below", errUsage)
	}
	if l.opts.Token, err = granary.ReadToken("query-token-file", l.token); err != nil {
		return err
	}
	return with(ctx, l.config, func(lake *iceberg.Lake) error {
		if _, err := lake.Pin(ctx); err != nil { // before a directory is made
			return err
		}
		store, err := columnstore.Open(columnstore.Options{Dir: l.dir, MemoryBudget: l.memory, FutureLimit: -1, PastLimit: -1})
		if err != nil {
			return fmt.Errorf("directory %s: %w", l.dir, err)
		}
		return errors.Join(l.load(ctx, lake, store, notes), store.Close())
	})
}

// parseTime parses the time of a flag.
func parseTime(flag, text string, now time.Time) (int64, error) {
	at, ok := timetext.Parse(text, time.Local)
	if !ok || at.Base == timetext.Latest { // which is not known before the table is read
		return 0, fmt.Errorf("%w: %s %q: want a time such as 2026-01-31T09:00:00Z, a day such as 2026-01-31, Unix seconds, or a duration before now such as -24h or -7d", errUsage, flag, text)
	}
	return at.At(now.UnixNano()), nil
}

// progressEvery is the time between two notes.
const progressEvery = 5 * time.Second

func (l *loader) load(ctx context.Context, lake *iceberg.Lake, store *columnstore.Store, notes io.Writer) error {
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	if n := store.Stats().Rows; n > 0 {
		return fmt.Errorf("%w: directory %s has %d rows already", errUsage, l.dir, n)
	}
	told := time.Now()
	l.opts.Progress = func(read, of int64) {
		if time.Since(told) > progressEvery {
			told = time.Now()
			fmt.Fprintf(notes, "read %s rows, of at most %s of the table\n", thousands(read), thousands(of))
		}
	}
	rows, err := lake.Load(ctx, db, l.opts)
	if err != nil {
		return fmt.Errorf("%w; %s has %s rows, and not all: remove it, and load again", err, l.dir, thousands(rows))
	}
	fmt.Fprintf(notes, "%s rows in %s\n", thousands(rows), l.dir)
	return nil
}

// thousands formats a number with thousands separators.
func thousands(n int64) string { return profile.FormatValue(n, "count") }
