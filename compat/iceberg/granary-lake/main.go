// Granary-lake moves a Granary directory's rows into an Iceberg table, keeps the table small, and prints
// the queries that read one state of it.
//
// Exit codes: 0 done; 1 failed; 2 wrong use.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	granary "github.com/granarydb/granary/cmd/granary/node"
	"github.com/granarydb/granary/compat/iceberg"
)

// The exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// errUsage marks usage errors.
var errUsage = errors.New("wrong use")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command with arguments and returns its exit code.
func run(ctx context.Context, args []string, out, notes io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(notes)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(notes, "granary-lake:", err)
	if errors.Is(err, errUsage) || errors.Is(err, iceberg.ErrOptions) || granary.IsUsage(err) {
		fmt.Fprintln(notes, "see granary-lake --help")
		return exitUsage
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	c := &iceberg.Config{}
	root := &cobra.Command{
		Use:   "granary-lake",
		Short: "Keep profiles of all nodes in one Iceberg table",
		Long: `granary-lake keeps the profiles of many Granary directories in one Apache Iceberg
table, which Spark, ClickHouse, Polars and others read. A row is one value of one
sample, as in granary export; the table is named profiles.samples.

  init     makes the table
  serve    takes profiles, and adds them as their time ranges end
  seal     adds the rows of a directory that no server has open, or of a backup
  maintain joins small files, and drops old days, old snapshots and files that nothing needs
  expire   is maintain without the joining
  delete   deletes the rows with a label, or of a range of time
  sql      prints queries of the state that the table has now
  load     fills a directory with rows of the table, for granary serve and others
  forget   removes a node that will not come back

A node is one directory. The table keeps, for each node, up to where its rows are
in the table; the commit that adds rows moves that place. So seal can be killed
and repeated at any time. One process at a time may seal for a node.

The catalog is a file of SQLite, for processes of one machine, or a REST catalog.

exit codes: 0 done, 1 failed, 2 wrong use`,
		Example: `  granary-lake init --catalog sqlite:lake.db --warehouse lake --label job --label pod
  granary-lake serve --catalog sqlite:lake.db --node $(hostname) --db /var/lib/granary
  granary-lake sql  --catalog sqlite:lake.db
  granary-lake maintain --catalog sqlite:lake.db --days 90 --every 1h`,
		SilenceUsage: true, SilenceErrors: true,
	}
	f := root.PersistentFlags()
	f.StringVar(&c.Catalog, "catalog", "", "the `CATALOG`: sqlite:FILE, or the URL of a REST catalog")
	f.StringVar(&c.Name, "catalog-name", iceberg.DefaultName, "the `NAME` of the catalog, the same in Spark")
	f.StringVar(&c.Table, "table", iceberg.DefaultTable, "the table, `NAMESPACE.TABLE`")
	f.StringVar(&c.Warehouse, "warehouse", "", "the `FOLDER` or URL of new tables; a REST catalog can have its own")
	f.StringToStringVar(&c.Properties, "property", nil, "a `KEY=VALUE` for the catalog, such as s3.endpoint=http://host:9000")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	root.AddCommand(newInit(c), newServe(c), newSeal(c), newMaintain(c), newExpire(c), newDelete(c), newSQL(c), newLoad(c), newForget(c))
	for _, cmd := range root.Commands() {
		cmd.Args = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%w: no argument is taken, not %q", errUsage, args)
			}
			return nil
		}
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("%w: no command %q", errUsage, args[0])
		}
		return cmd.Help()
	}
	root.Args = cobra.ArbitraryArgs
	return root
}

// with calls f with an open table.
func with(ctx context.Context, c *iceberg.Config, f func(l *iceberg.Lake) error) error {
	l, err := iceberg.Open(ctx, *c)
	if err != nil {
		return err
	}
	return errors.Join(f(l), l.Close())
}

func newInit(c *iceberg.Config) *cobra.Command {
	var opts iceberg.TableOptions
	cmd := &cobra.Command{
		Use: "init", Short: "Make the table",
		Long: `init makes the table, partitioned by day. Each --label gets a column of its own,
label_NAME, by which readers leave out files and groups of rows; all labels are in
the column labels, a map, too. Columns can be added later by any engine: they are
filled from then on.

A row has the names of the functions of its stack. --symbols makes two more tables,
which have what else is known of stacks: load restores it. They are joined by
stack_id, then by location; several units can have one stack, so take each once.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(cmd.Context(), c, func(l *iceberg.Lake) error { return l.Create(cmd.Context(), opts) })
		},
	}
	cmd.Flags().StringArrayVar(&opts.Labels, "label", nil, "a `NAME` of a label with a column of its own; may be repeated")
	cmd.Flags().BoolVar(&opts.Symbols, "symbols", false, "keep lines, addresses and binaries too, in tables beside: NAME_stacks and NAME_locations")
	cmd.Flags().StringVar(&opts.Location, "location", "", "the `URL` of the table's folder, instead of one in the warehouse")
	return cmd
}

func newForget(c *iceberg.Config) *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use: "forget", Short: "Remove a node that will not come back",
		Long: `forget removes a node. Its rows in the table stay; rows that it has not sealed are
lost to the table.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if node == "" {
				return fmt.Errorf("%w: forget needs --node", errUsage)
			}
			return with(cmd.Context(), c, func(l *iceberg.Lake) error { return l.Forget(cmd.Context(), node) })
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "the `ID` of the node")
	return cmd
}
