// Command granary-parca serves Parca's API on a Granary store. granary-parca --help tells more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-kit/log"

	"github.com/granarydb/granary/columnstore"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the command's flags.
type options struct {
	addr, dir, cors string
	memory          int64 // MiB
	retention       time.Duration
}

// run is the program without the process around it. It serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var opts options
	flags := flag.NewFlagSet("granary-parca", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed once, below
	flags.StringVar(&opts.addr, "addr", "127.0.0.1:7070", "`address` to listen on")
	flags.StringVar(&opts.dir, "dir", "", "`directory` of the samples; without it they are in memory")
	flags.StringVar(&opts.cors, "cors", "", "comma-separated `origins` of pages that may ask, * for all")
	flags.Int64Var(&opts.memory, "memory", 0, "memory budget of the store in `MiB`; 0 is no limit")
	flags.DurationVar(&opts.retention, "retention", 0, "`time` that samples are kept; 0 is for ever")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, help)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return exitOK
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(stderr, "granary-parca: %v\nTry 'granary-parca --help'.\n", err)
		return exitUsage
	}
	if err := openAndServe(ctx, opts, log.NewLogfmtLogger(log.NewSyncWriter(stderr))); err != nil {
		fmt.Fprintf(stderr, "granary-parca: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// openAndServe opens the store, serves it until ctx ends, and closes it.
func openAndServe(ctx context.Context, opts options, logger log.Logger) (err error) {
	store, err := columnstore.Open(columnstore.Options{Dir: opts.dir, Retention: opts.retention, MemoryBudget: opts.memory << 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var origins []string
	if opts.cors != "" {
		origins = strings.Split(opts.cors, ",")
	}
	return serve(ctx, store, opts.addr, origins, logger)
}
