package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/compat/iceberg"
	"github.com/granarydb/granary/profile"
)

// expiry is the command expire, and the end of maintain, with its flags' values.
type expiry struct {
	opts    iceberg.ExpireOptions
	days    int
	orphans time.Duration
	dry     bool
}

func newExpire(c *iceberg.Config) *cobra.Command {
	e := &expiry{}
	cmd := &cobra.Command{
		Use: "expire", Short: "Drop old days, old snapshots and files that nothing needs",
		Long: `expire is maintain without its first step: it joins no files.

  --days N      drops the rows of days that ended more than N days ago
  --keep N      forgets older snapshots, unless they are younger than --age
  --orphans T   removes files older than T that no snapshot has: those of
                commits that lost or died. T is longer than any seal takes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.check(); err != nil {
				return err
			}
			return with(cmd.Context(), c, func(l *iceberg.Lake) error {
				did, err := e.run(cmd.Context(), l, cmd.OutOrStdout())
				if err == nil || did != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), did)
				}
				return err
			})
		},
	}
	e.flags(cmd, 0)
	return cmd
}

// flags adds the flags of expire, of which orphans has a default.
func (e *expiry) flags(cmd *cobra.Command, orphans time.Duration) {
	f := cmd.Flags()
	f.IntVar(&e.opts.Keep, "keep", 100, "the `NUMBER` of snapshots to keep")
	addDuration(f, &e.opts.Age, "age", time.Hour, "keep snapshots of this `DURATION` too: longer than the longest query")
	f.IntVar(&e.days, "days", 0, "keep rows of this `NUMBER` of days; 0 keeps all")
	addDuration(f, &e.orphans, "orphans", orphans, "remove orphans older than this `DURATION`, at least 1h, such as 3d; 0 removes none")
	f.BoolVar(&e.dry, "dry-run", false, "only print the orphans")
}

func (e *expiry) check() error {
	if e.days < 0 {
		return fmt.Errorf("%w: --days is not negative", errUsage)
	}
	return nil
}

// run drops, expires and removes, and returns what it did. It prints the orphans.
func (e *expiry) run(ctx context.Context, l *iceberg.Lake, out io.Writer) (did string, err error) {
	if !e.dry {
		if e.days > 0 {
			if err := l.DropBefore(ctx, time.Now().AddDate(0, 0, -e.days)); err != nil {
				return "", err
			}
		}
		gone, err := l.Expire(ctx, e.opts)
		if err != nil {
			return "", err
		}
		did = fmt.Sprintf("%d snapshots expired", gone)
	}
	if e.orphans == 0 {
		return did, nil
	}
	files, err := l.RemoveOrphans(ctx, e.orphans, e.dry)
	for _, f := range files {
		fmt.Fprintln(out, f)
	}
	if e.dry {
		return fmt.Sprintf("%d orphans", len(files)), err
	}
	return fmt.Sprintf("%s, %d orphans removed", did, len(files)), err
}

// maintainer is the command maintain with its flags' values.
type maintainer struct {
	expiry

	config *iceberg.Config
	opts   iceberg.CompactOptions
	small  int64 // MiB
	read   int64 // MiB
	closed time.Duration
	every  time.Duration
}

func newMaintain(c *iceberg.Config) *cobra.Command {
	m := &maintainer{config: c}
	cmd := &cobra.Command{
		Use: "maintain", Short: "Join small files, then drop old days, old snapshots and files that nothing needs",
		Long: `maintain keeps the table fast and small, beside nodes that add rows and other engines
that read and change it. One pass:

  1  joins the small files of each ended day. The table has the same rows
     afterwards; of symbols, which units repeat, each is there once
  2  --days N: drops the rows of days that ended more than N days ago
  3  forgets snapshots beyond --keep, unless they are younger than --age.
     A query must end before its snapshot is forgotten
  4  removes files older than --orphans that no snapshot has: those of commits
     that lost or died. It is longer than any seal or rewrite takes

Without --every it makes one pass. It can be killed at any time, and repeated. Each
join is one commit, which fails, and is left out, if others changed the same files.
Several can run, for one that dies: the catalog elects the one that joins files, and
another one takes over within ten minutes. The rest is done by each.

A file is left alone, and named, if it has values that granary-lake would not write
as they are, such as those of a column of another engine with numbers of another
type than long.

The outcome is one line; progress, and the names of orphans, go to standard error.
Exit codes: 0 done, also if files were left alone; 1 a step failed, and the others
were done; 2 wrong use. With --every it ends with 0 at SIGINT or SIGTERM, and a step
that fails is named, and done again in the next pass.`,
		Example: `  granary-lake maintain --catalog sqlite:lake.db --days 90
  granary-lake maintain --catalog sqlite:lake.db --days 90 --every 1h`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	addDuration(f, &m.every, "every", 0, "make a pass each `DURATION` until a signal; default: one pass")
	f.Int64Var(&m.small, "small", 32, "join files below this `NUMBER` of MiB; 0 joins none")
	f.IntVar(&m.opts.Files, "files", 5, "of days that have at least this `NUMBER` of them")
	addDuration(f, &m.closed, "closed", 2*time.Hour, "of days that ended this `DURATION` ago: rows that come later are joined with them in another pass")
	f.Int64Var(&m.read, "read", 8<<10, "join files of this `NUMBER` of MiB in a pass, and leave others to the next; 0 is no bound")
	f.StringVar(&m.opts.Name, "name", defaultName(), "the `NAME` by which the catalog elects this process")
	m.flags(cmd, 72*time.Hour)
	return cmd
}

// defaultName returns a name that no other process has.
func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "maintainer"
	}
	return fmt.Sprintf("%s-%d", strings.Join(strings.Fields(host), "-"), os.Getpid())
}

func (m *maintainer) run(ctx context.Context, out, notes io.Writer) error {
	switch err := m.check(); {
	case err != nil:
		return err
	case m.small < 0 || m.read < 0 || m.opts.Files < 2:
		return fmt.Errorf("%w: --small and --read are not negative, and --files is at least 2", errUsage)
	case m.every < 0 || m.every > 0 && m.every < time.Second:
		return fmt.Errorf("%w: --every is at least a second", errUsage)
	case m.opts.Name == "" || strings.ContainsAny(m.opts.Name, " \t\n"):
		return fmt.Errorf("%w: --name is empty, or has spaces", errUsage)
	}
	return with(ctx, m.config, func(l *iceberg.Lake) error {
		for {
			err := m.pass(ctx, l, out, notes)
			if m.every == 0 || errors.Is(err, iceberg.ErrOptions) {
				return err
			}
			if err != nil && ctx.Err() == nil {
				fmt.Fprintln(notes, "granary-lake:", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(m.every):
			}
		}
	})
}

// pass makes a pass. A step that fails does not keep the others from being done.
func (m *maintainer) pass(ctx context.Context, l *iceberg.Lake, out, notes io.Writer) error {
	var did []string
	var failed error
	if m.small > 0 && !m.dry {
		m.opts.Small, m.opts.Bytes, m.opts.Before = m.small<<20, m.read<<20, time.Now().Add(-m.closed)
		m.opts.Progress = func(r iceberg.Rewrite) { fmt.Fprintln(notes, rewriteText(r)) }
		m.opts.Left = func(err error) { fmt.Fprintln(notes, "left alone:", err) }
		var c iceberg.Compacted
		failed = limited(func() (err error) {
			c, err = l.Compact(ctx, m.opts)
			return err
		})
		did = append(did, compactedText(c))
	}
	text, err := m.expiry.run(ctx, l, notes)
	if text != "" {
		did = append(did, text)
	}
	fmt.Fprintln(out, strings.Join(did, "; "))
	return errors.Join(failed, err)
}

// rewriteText is the note of a rewrite.
func rewriteText(r iceberg.Rewrite) string {
	text := fmt.Sprintf("%s, %s: %d files to %d, %s to %s, %s rows", r.Table, r.Day.Format(time.DateOnly), len(r.Files), len(r.New),
		bytesText(r.Before), bytesText(r.After), thousands(r.Rows))
	if r.Repeated > 0 {
		text += fmt.Sprintf(", %s repeated ones left out", thousands(r.Repeated))
	}
	if r.Deleted > 0 {
		text += fmt.Sprintf(", %s deleted", thousands(r.Deleted))
	}
	return text
}

// compactedText is the outcome of a compaction.
func compactedText(c iceberg.Compacted) string {
	if c.Other != "" {
		return fmt.Sprintf("%d files joined: %s is elected", c.Files, c.Other)
	}
	text := fmt.Sprintf("%d files joined to %d, %s to %s", c.Files, c.New, bytesText(c.Before), bytesText(c.After))
	if c.Left > 0 {
		text += fmt.Sprintf(", %d left alone", c.Left)
	}
	if c.Later > 0 {
		text += fmt.Sprintf(", %d for the next pass", c.Later)
	}
	return text
}

func bytesText(n int64) string { return profile.FormatValue(n, "bytes") }
