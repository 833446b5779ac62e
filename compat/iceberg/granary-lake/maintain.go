package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/compat/iceberg"
)

func newExpire(c *iceberg.Config) *cobra.Command {
	var (
		opts    iceberg.ExpireOptions
		days    int
		orphans time.Duration
		dry     bool
	)
	cmd := &cobra.Command{
		Use: "expire", Short: "Drop old days, old snapshots and files that nothing needs",
		Long: `expire keeps the table small. Run it by one process, a few times a day.

  --days N      drops the rows of days that ended more than N days ago
  --keep N      forgets older snapshots, unless they are younger than --age
  --orphans T   removes files older than T that no snapshot has: those of
                commits that lost or died. T is longer than any seal takes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 0 {
				return fmt.Errorf("%w: --days is not negative", errUsage)
			}
			return with(cmd.Context(), c, func(l *iceberg.Lake) error {
				if days > 0 && !dry {
					if err := l.DropBefore(cmd.Context(), time.Now().AddDate(0, 0, -days)); err != nil {
						return err
					}
				}
				if !dry {
					gone, err := l.Expire(cmd.Context(), opts)
					if err != nil {
						return err
					}
					fmt.Fprintf(cmd.ErrOrStderr(), "%d snapshots expired\n", gone)
				}
				if orphans == 0 {
					return nil
				}
				files, err := l.RemoveOrphans(cmd.Context(), orphans, dry)
				for _, f := range files {
					fmt.Fprintln(cmd.OutOrStdout(), f)
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&opts.Keep, "keep", 100, "the `NUMBER` of snapshots to keep")
	addDuration(cmd.Flags(), &opts.Age, "age", time.Hour, "keep snapshots of this `DURATION` too: longer than the longest query")
	f.IntVar(&days, "days", 0, "keep rows of this `NUMBER` of days; 0 keeps all")
	addDuration(cmd.Flags(), &orphans, "orphans", 0, "remove orphans older than this `DURATION`, at least 1h, such as 3d; 0 removes none")
	f.BoolVar(&dry, "dry-run", false, "only print the orphans")
	return cmd
}

func newSQL(c *iceberg.Config) *cobra.Command {
	return &cobra.Command{
		Use: "sql", Short: "Print queries of the state that the table has now",
		Long: `sql prints, for ClickHouse, Spark and Polars, the query of the greatest functions of the
table as it is now, and of the rows that its nodes have and it lacks: each row once.
Rows that are committed later do not change the answer. The metadata file and the
snapshot stay until expire, or 20 commits, remove them. A node answers 410 when it
has dropped rows that this state lacks: print again.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(cmd.Context(), c, func(l *iceberg.Lake) error {
				p, err := l.Pin(cmd.Context())
				if err == nil {
					_, err = io.WriteString(cmd.OutOrStdout(), queries(p, c.Name))
				}
				return err
			})
		},
	}
}

// queries returns the output of the command sql.
func queries(p iceberg.Pinned, catalog string) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	const where = "WHERE sample_type = 'cpu' GROUP BY function"
	from, settings := p.ClickHouse()
	line("-- ClickHouse\nSELECT function, sum(total) AS total FROM (")
	line("  SELECT stack[1] AS function, sum(value) AS total FROM %s %s", from, where)
	for _, n := range p.Nodes {
		if hot := n.Hot(); hot != "" {
			line("  UNION ALL\n  SELECT stacktrace[1] AS function, sum(value) AS total FROM url('%s', ArrowStream) %s", hot, where)
		}
	}
	line(") GROUP BY function ORDER BY total DESC LIMIT 10\n%s;\n", settings)
	line("-- Spark, of the table alone\nSELECT stack[0] AS function, sum(value) AS total\nFROM %s", p.Spark(catalog))
	line("WHERE sample_type = 'cpu' GROUP BY 1 ORDER BY 2 DESC LIMIT 10;\n")
	line("# Polars\nimport polars as pl, urllib.request\ncpu = pl.col(\"sample_type\") == \"cpu\"\n(pl.concat([")
	line(" %s.filter(cpu).select(pl.col(\"stack\").list.first().alias(\"function\"), \"value\"),", p.Polars())
	for _, n := range p.Nodes {
		if hot := n.Hot(); hot != "" {
			line(" pl.read_ipc_stream(urllib.request.urlopen(%q).read()).lazy().filter(cpu).select(pl.col(\"stacktrace\").list.first().alias(\"function\"), \"value\"),", hot)
		}
	}
	line("]).group_by(\"function\").agg(pl.col(\"value\").sum()).sort(\"value\", descending=True).head(10).collect())\n")
	for _, n := range p.Nodes {
		if line("# node %s: rows up to seal %d %s", n.ID, n.Seal, n.Address); n.Address == "" {
			line("#   it has no address: its newer rows are not in these answers")
		}
	}
	return out.String()
}
