//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"

	driver "github.com/duckdb/duckdb-go/v2"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/duckdb"
	"github.com/granarydb/granary/internal/input"
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

// usageError is a wrong call.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is the program without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := newCommand(stdout, stderr)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "granary-sql: %s\n", err)
	if isUsage(err) {
		fmt.Fprintln(stderr, "Try 'granary-sql --help', or 'granary-sql --schema INPUT...' for the columns.")
		return exitUsage
	}
	return exitFailed
}

// isUsage reports whether the cause is a wrong call, or SQL that no profiles could make valid.
func isUsage(err error) bool {
	if _, usage := errors.AsType[usageError](err); usage {
		return true
	}
	told, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return false
	}
	switch told.Type {
	case driver.ErrorTypeParser, driver.ErrorTypeSyntax, driver.ErrorTypeBinder, driver.ErrorTypeCatalog:
		return true
	default:
		return false
	}
}

// queryOf returns the SQL for the table samples.
type queryOf func(ctx context.Context, db *duckdb.DB, snap *columnstore.Snapshot, samples duckdb.Table) (string, error)

func newCommand(stdout, stderr io.Writer) *cobra.Command {
	var out output
	var schema bool
	cmd := &cobra.Command{
		Use:           "granary-sql [flags] SQL INPUT...",
		Short:         "Ask pprof profiles in SQL",
		Long:          longHelp,
		Example:       examples,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case out.csv && out.json:
				return usageError{errors.New("--csv and --json are two answers to one question: choose one")}
			case !schema && (len(args) == 0 || strings.TrimSpace(args[0]) == ""):
				return usageError{errors.New("the SQL is missing")}
			case !schema && input.Is(args[0]):
				return usageError{fmt.Errorf("the SQL is missing: %s is an input", args[0])}
			case len(args) == 0 || !schema && len(args) == 1:
				return usageError{errors.New("name at least one profile: a file, a directory or an http URL")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var query queryOf = func(context.Context, *duckdb.DB, *columnstore.Snapshot, duckdb.Table) (string, error) {
				return args[0], nil
			}
			inputs := args[1:]
			if schema {
				query, inputs = describe, args
			}
			return ask(cmd.Context(), query, inputs, out, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "list the columns of the inputs with examples of their values; takes no SQL")
	cmd.Flags().BoolVar(&out.csv, "csv", false, "print CSV: a header, then a line a row; NULL is empty, lists are JSON")
	cmd.Flags().BoolVar(&out.json, "json", false, "print JSON: an array of objects, one a row and line")
	cmd.SetVersionTemplate("granary-sql {{.Version}}\n")
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

// ask loads the inputs and prints the answer to a query about them.
func ask(ctx context.Context, query queryOf, inputs []string, out output, stdout, stderr io.Writer) (err error) {
	l, err := load(ctx, stderr, inputs)
	if err != nil {
		return err
	}
	defer l.store.Close()
	db, err := duckdb.Open(duckdb.Options{Files: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = l.store.View(ctx, func(snap *columnstore.Snapshot) (err error) {
		samples, err := newSamples(ctx, db, l.db, snap)
		if err != nil {
			return err
		}
		text, err := query(ctx, db, snap, samples)
		if err != nil {
			return err
		}
		rows, err := db.Query(ctx, snap, []duckdb.Table{samples}, text)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		return out.print(stdout, rows)
	})
	if err == nil && l.failed > 0 {
		err = fmt.Errorf("the answer is without %d of the inputs", l.failed)
	}
	return err
}

func versionText() string {
	version, commit := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = " " + s.Value
			}
		}
	}
	return fmt.Sprintf("%s%s %s %s/%s", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
