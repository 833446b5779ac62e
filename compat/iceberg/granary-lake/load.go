package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg"
	"github.com/granarydb/granary/profile"
)

// loader is the command load with its flags' values.
type loader struct {
	config   *iceberg.Config
	dir      string
	memory   int64
	from, to string
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
	f.StringVar(&l.from, "from", "-1h", "the `TIME` of the first rows: RFC 3339, or a duration before now such as -24h")
	f.StringVar(&l.to, "to", "", "the `TIME` that rows are before; default: now")
	f.StringToStringVar(&l.opts.Labels, "label", nil, "take rows with this label alone, `NAME=VALUE`; may be repeated")
	f.Int64Var(&l.opts.Rows, "rows", 20_000_000, "the `NUMBER` of rows that are taken at most; 0 is no bound")
	f.BoolVar(&l.opts.TableOnly, "table-only", false, "leave out what nodes have and the table lacks: they need not run")
	return cmd
}

func (l *loader) run(ctx context.Context, notes io.Writer) error {
	var err error
	if l.opts.From, err = l.time("--from", l.from); err != nil {
		return err
	}
	l.opts.To = l.now().UnixNano()
	if l.to != "" {
		if l.opts.To, err = l.time("--to", l.to); err != nil {
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

// time parses a flag's time.
func (l *loader) time(flag, text string) (int64, error) {
	if d, err := time.ParseDuration(text); err == nil && strings.HasPrefix(text, "-") {
		return l.now().Add(d).UnixNano(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1700 || at.Year() > 2261 { // range of 64-bit nanoseconds
		return 0, fmt.Errorf("%w: %s %q: want RFC 3339, or a duration before now such as -24h", errUsage, flag, text)
	}
	return at.UnixNano(), nil
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
