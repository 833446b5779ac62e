package main

import (
	"context"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dirs"
	"github.com/granarydb/granary/cmd/granary/internal/serve"
	"github.com/granarydb/granary/cmd/granary/internal/soak"
	"github.com/granarydb/granary/cmd/granary/internal/states"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes the program without touching the process and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "granary",
		Short: "A column store for profiling data",
		Long: `granary loads pprof profiles into a column store in memory and answers
questions about them, or stores them in a directory and asks that.

  granary demo                         see it at work, no data needed
  granary demo --serve                 the same in a browser
  granary view cpu.pb.gz               profiles of files or a URL in a browser
  granary top cpu.pb.gz                the functions that cost most
  granary top --json DIR               the same for a directory, as JSON
  granary peek 'mallocgc$' cpu.pb.gz   the callers and callees of functions
  granary diff a.pb.gz b.pb.gz         the functions whose cost changed
  granary check base/ new/             exit code 1 after a regression, for CI
  granary series --step 1m DIR         a chart of values over time
  granary labels DIR                   the labels that can be selected
  granary merge -o sum.pb.gz DIR       many profiles merged into one
  granary pgo DIR                      default.pgo, for go build -pgo
  granary symbolize --binary PROGRAM   functions, files and lines for addresses
  granary export -o rows.parquet DIR   rows for pandas, Polars, DuckDB, others
  granary flamegraph -o f.svg URL      a flame graph of a running Go server: URL
                                       is http://localhost:6060/debug/pprof/heap
  granary inspect --columns DIR        the granules, parts and columns in memory
  granary load --db D.db DIR           store profiles in a directory
  granary top --db D.db                the same questions, of the directory
  granary serve --db D.db              take profiles over HTTP, and answer
  granary push --to URL cpu.pb.gz      send profiles to a server
  granary backup --db D.db E.db        a copy of the directory
  granary verify --db D.db             are all bytes as they were written?
  granary history plot -o s.svg FILE   a picture of a Go trace's states
  source <(granary completion bash)    completion in a shell: bash, fish, zsh

Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted. Of check 1 is
a regression, and 2 any error.`,
		Version: cli.VersionText(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       cli.NoCommand,
	}
	root.SetHelpCommand(cli.NewHelp("Show the help of a command"))
	root.SetVersionTemplate("granary {{.Version}}\n")
	root.AddCommand(newDemo(), newView(), newTop(), newPeek(), newDiff(), newCheck(), newSeries(), newLabels(), newFlamegraph(), newMerge(), newPGO(), newSymbolize(), newExport(), newInspect(), newLoad(), newDelete(), serve.NewServe(assist), newPush(), serve.NewPushSymbols(), serve.NewRules(), dirs.NewBackup(), dirs.NewVerify(), dirs.NewDoctor(), dirs.NewRepair(), dirs.NewDump(), states.NewCommand(), newMCP(), soak.NewCommand(), cli.NewVersion())
	return root
}
