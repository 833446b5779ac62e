package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/profile"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is a wrong call; failedError a failure that has been told already.
type (
	usageError  struct{ error }
	failedError struct{ error }
)

func (e usageError) Unwrap() error { return e.error }

// run is the program without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if _, told := errors.AsType[failedError](err); !told {
		fmt.Fprintf(stderr, "granary: %s\n", oneLine(err))
	}
	if isUsage(err) {
		fmt.Fprintf(stderr, "Try '%s --help'.\n", called.CommandPath())
		return exitUsage
	}
	return exitFailed
}

func isUsage(err error) bool {
	_, usage := errors.AsType[usageError](err)
	return usage || errors.Is(err, profile.ErrSelector) ||
		errors.Is(err, profile.ErrUnknownType) || errors.Is(err, profile.ErrAmbiguousType)
}

// oneLine puts an error on one line: parsers like to draw arrows.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "granary",
		Short: "A column store for profiling data",
		Long: `granary loads pprof profiles into a column store in memory and answers
questions about them.

  granary demo                         see it at work, no data needed
  granary top cpu.pb.gz                the functions that cost most
  granary top --json DIR               the same of a directory, for scripts
  granary diff a.pb.gz b.pb.gz         what costs more in b than in a, what less
  granary series --by thread DIR       values over time, as a chart
  granary labels DIR                   which labels there are to choose by
  granary merge -o sum.pb.gz DIR       many profiles as one
  granary export -o rows.parquet DIR   rows for pandas, Polars, DuckDB, others
  granary flamegraph -o f.svg URL      a picture of a running Go server: URL is
                                       http://localhost:6060/debug/pprof/heap
  granary inspect --columns DIR        how the store keeps them: granules, parts
  granary history plot -o s.svg SET    recorded states over time, as a picture

Exit codes: 0 done, 1 something failed, 2 wrong use.`,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(cmd.Help(), usageError{errors.New("a command is missing")})
		},
	}
	root.SetVersionTemplate("granary {{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", textWidth)))
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newDemo(), newTop(), newDiff(), newSeries(), newLabels(), newFlamegraph(), newMerge(), newExport(), newInspect(), newHistory(), newVersion())
	return root
}

// inputs is cobra's check that there is at least one input.
func inputs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{errors.New("name at least one profile: a file, a directory or an http URL")}
	}
	return nil
}
