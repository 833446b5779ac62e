package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/granarydb/granary/bench/programs"
	"github.com/granarydb/granary/bench/results"
)

// options are the flags' values.
type options struct {
	pods     int
	every    time.Duration
	duration time.Duration
	writers  int
	askers   int
	variants int
	memory   string
	sync     string
	most     bool
	kills    int
	verbose  bool
}

func main() {
	var o options
	flag.IntVar(&o.pods, "pods", 200, "pods, each with four profiles")
	flag.DurationVar(&o.every, "every", 10*time.Second, "time between two pushes of a pod")
	flag.DurationVar(&o.duration, "duration", time.Minute, "time of the load; with -kill, from one kill to the next")
	flag.IntVar(&o.writers, "writers", 32, "pushes in progress at most")
	flag.IntVar(&o.askers, "askers", 2, "questions in progress")
	flag.IntVar(&o.variants, "variants", 3, "different profiles of each type of a pod")
	flag.StringVar(&o.memory, "memory", "256MiB", "the server's --memory")
	flag.StringVar(&o.sync, "sync", "periodically", "the server's --sync; with -kill it is each")
	flag.BoolVar(&o.most, "most", false, "push as fast as the server answers, instead of at a fixed rate")
	flag.IntVar(&o.kills, "kill", 0, "the number of times to kill the server")
	flag.BoolVar(&o.verbose, "v", false, "print the server's log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		stop()
		os.Exit(1)
	}
}

func (o *options) check() error {
	if o.pods < 1 || o.every <= 0 || o.duration <= 0 || o.writers < 1 || o.askers < 0 || o.variants < 1 || o.kills < 0 {
		return errors.New("want at least one pod, writer and variant, and times above 0")
	}
	return nil
}

func (o *options) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "granary-serve-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Fprintln(os.Stderr, "serve: build the command")
	command, err := programs.BuildGranary(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "serve: make the profiles")
	f, err := makeFiles(o.pods, o.variants)
	if err != nil {
		return err
	}
	if o.kills > 0 {
		return o.kill(ctx, command, dir, f)
	}
	r, err := o.measure(ctx, command, dir, f)
	if err != nil {
		return err
	}
	r.print()
	return results.Print(r)
}

// begin starts a server on a directory.
func (o *options) begin(ctx context.Context, command, db, sync string) (*programs.Server, error) {
	to := io.Discard
	if o.verbose {
		to = os.Stderr
	}
	return programs.Serve(ctx, command, to, "--db", db, "--memory", o.memory, "--sync", sync)
}
