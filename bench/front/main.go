// Command front measures a front over several nodes beside one node with the profiles of all. All are
// processes of granary serve, built from this checkout, on this machine.
//
//	go run ./front -nodes 16 -rows 1000000
//	go run ./front -nodes 3 -rows 100000 -repeat 9
//
// The profiles are those of package fleet, and a pod's go to one node. Each question is asked of the single
// node and of the front in turns, and an answer that differs is an error. A warm question was asked before, so
// that the front knows the stacks; the first is asked of a front that has just started.
//
// Times are wall times of the client and CPU times of all processes that answer. A table goes to standard
// error, a JSON report to standard output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/granarydb/granary/bench/results"
)

// options are the flags' values.
type options struct {
	nodes, rows, repeat int
	only                string
	verbose             bool
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 16, "nodes of the front")
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of all nodes together, at least")
	flag.IntVar(&o.repeat, "repeat", 5, "times that each question is asked")
	flag.StringVar(&o.only, "question", "", "the only question to ask, such as flame")
	flag.BoolVar(&o.verbose, "v", false, "print the servers' logs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "front:", err)
		stop()
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) (err error) {
	if o.nodes < 1 || o.rows < 1 || o.repeat < 1 {
		return errors.New("want at least one node, one row and one repetition")
	}
	s, err := o.begin(ctx)
	if s != nil {
		defer func() { err = errors.Join(err, s.end()) }()
	}
	if err != nil {
		return err
	}
	r, err := o.measure(ctx, s)
	if err != nil {
		return err
	}
	r.print()
	return results.Print(r)
}
