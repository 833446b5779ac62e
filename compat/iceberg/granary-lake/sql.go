package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/compat/iceberg"
)

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
