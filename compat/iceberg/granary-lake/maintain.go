package main

import (
	"fmt"
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
			if days < 0 || orphans < 0 {
				return fmt.Errorf("%w: --days and --orphans are not negative", errUsage)
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
	f.DurationVar(&opts.Age, "age", time.Hour, "keep snapshots of this `DURATION` too: longer than the longest query")
	f.IntVar(&days, "days", 0, "keep rows of this `NUMBER` of days; 0 keeps all")
	f.DurationVar(&orphans, "orphans", 0, "remove orphans older than this `DURATION`, at least 1h; 0 removes none")
	f.BoolVar(&dry, "dry-run", false, "only print the orphans")
	return cmd
}

func newSQL(c *iceberg.Config) *cobra.Command {
	return &cobra.Command{
		Use: "sql", Short: "Print queries of the state that the table has now",
		Long: `sql prints, for ClickHouse, Spark and Polars, the query of the greatest functions of the
table as it is now. Rows that are committed later do not change the answer. The
metadata file and the snapshot stay until expire, or 20 commits, remove them.

It also prints up to which seal the snapshot has each node's rows.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(cmd.Context(), c, func(l *iceberg.Lake) error {
				p, err := l.Pin(cmd.Context())
				if err != nil {
					return err
				}
				from, settings := p.ClickHouse()
				out := cmd.OutOrStdout()
				fmt.Fprintf(out, "-- ClickHouse\nSELECT stack[1] AS function, sum(value) AS total\nFROM %s\n", from)
				fmt.Fprintf(out, "WHERE sample_type = 'cpu' GROUP BY function ORDER BY total DESC LIMIT 10\n%s;\n\n", settings)
				fmt.Fprintf(out, "-- Spark\nSELECT stack[0] AS function, sum(value) AS total\nFROM %s\n", p.Spark(c.Name))
				fmt.Fprint(out, "WHERE sample_type = 'cpu' GROUP BY 1 ORDER BY 2 DESC LIMIT 10;\n\n")
				fmt.Fprintf(out, "# Polars\n(%s\n .filter(pl.col(\"sample_type\") == \"cpu\")\n", p.Polars())
				fmt.Fprint(out, " .group_by(pl.col(\"stack\").list.first().alias(\"function\")).agg(pl.col(\"value\").sum())\n .sort(\"value\", descending=True).head(10).collect())\n\n")
				for _, n := range p.Nodes {
					fmt.Fprintf(out, "# node %s: rows up to seal %d %s\n", n.ID, n.Seal, n.Address)
				}
				return nil
			})
		},
	}
}
