package serve

import (
	"cmp"
	"context"
	"log/slog"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
	"github.com/granarydb/granary/server/self"
)

// DemoAddress is the default address of a demo.
const DemoAddress = "127.0.0.1:4040"

// Demo serves a store, which fill fills meanwhile, until the command's context ends or SIGTERM arrives. The
// store also gets the profiles of this process and the states of its goroutines. Demo prints its URL on
// standard output when it listens, and calls ready with the URL. The caller closes the store.
//
// An error of fill ends Demo, unless Demo has already ended. The other errors are those of listening and of
// self.Profile.
func Demo(cmd *cobra.Command, listen string, store *columnstore.Store, fill func(context.Context, *profile.DB) error, ready func(url string)) error {
	f := flags{listen: listen, drain: time.Second}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	handle, err := server.New(store, server.Options{Log: log})
	if err != nil {
		return err
	}
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	states, err := store.CreateHistory("goroutines", columnstore.HistoryOptions{Start: time.Now().UnixNano()})
	if err != nil {
		return err
	}
	l, url, err := f.listenSaying(cmd, log, "")
	if err != nil {
		return err
	}
	ready(url)
	term, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancelCause(term)
	defer cancel(nil)
	var beside sync.WaitGroup
	for _, work := range []func() error{
		func() error { return fill(ctx, db) },
		func() error {
			return self.Profile(ctx, store, self.Options{States: states, Notify: func(err error) { log.Warn("own profiles", "error", err) }})
		},
	} {
		beside.Go(func() {
			if err := work(); err != nil {
				cancel(err) // after the end, this is not the first cancel and has no effect
			}
		})
	}
	err = f.run(ctx, log, handle, new(secrets), l)
	if term.Err() == nil && ctx.Err() != nil {
		err = cmp.Or(err, context.Cause(ctx))
	}
	cancel(nil)
	beside.Wait()
	return err
}
