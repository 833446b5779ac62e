package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
	"github.com/granarydb/granary/server/self"
)

// View serves a store until the command's context ends or SIGTERM arrives. When it listens, it prints its URL
// on standard output, with a query for the page ("" or ?name=value), and calls ready with the URL. The caller
// closes the store.
//
// The functions of beside run meanwhile, until their context ends. An error of one ends View, unless View has
// already ended. The other errors are those of listening.
func View(cmd *cobra.Command, listen, query string, store *columnstore.Store, ready func(url string), beside ...func(context.Context, *slog.Logger) error) error {
	f := flags{listen: listen, drain: time.Second}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	handle, err := server.New(store, server.Options{Profiles: dbdir.Profiles(store), Log: log})
	if err != nil {
		return err
	}
	term, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	l, url, err := f.listenSaying(cmd, log, query)
	if err != nil {
		return err
	}
	ready(url)
	ctx, cancel := context.WithCancelCause(term)
	defer cancel(nil)
	var working sync.WaitGroup
	for _, work := range beside {
		working.Go(func() {
			if err := work(ctx, log); err != nil {
				cancel(err) // after the end, this is not the first cancel and has no effect
			}
		})
	}
	err = f.run(ctx, log, handle, new(secrets), l)
	if term.Err() == nil && ctx.Err() != nil {
		err = cmp.Or(err, context.Cause(ctx))
	}
	cancel(nil)
	working.Wait()
	return err
}

// listenSaying listens, and prints the URL of the page, with a query, on standard output.
func (f *flags) listenSaying(cmd *cobra.Command, log *slog.Logger, query string) (l net.Listener, url string, err error) {
	if l, err = new(net.ListenConfig).Listen(context.WithoutCancel(cmd.Context()), "tcp", f.listen); err != nil {
		return nil, "", fmt.Errorf("--listen %s: %w", f.listen, err)
	}
	f.announce(log, l.Addr())
	url = "http://" + l.Addr().String()
	if query != "" {
		url += "/" + query
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Serving %s until it is interrupted\n", url); err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	return l, url, nil
}

// DemoAddress is the default address of a demo.
const DemoAddress = "127.0.0.1:4040"

// Demo is View for a store that fill fills meanwhile. The store also gets the profiles of this process and the
// states of its goroutines. The errors are also those of fill and of self.Profile.
func Demo(cmd *cobra.Command, listen string, store *columnstore.Store, fill func(context.Context, *profile.DB) error, ready func(url string)) error {
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	states, err := store.CreateHistory("goroutines", columnstore.HistoryOptions{Start: time.Now().UnixNano()})
	if err != nil {
		return err
	}
	fills := func(ctx context.Context, _ *slog.Logger) error { return fill(ctx, db) }
	return View(cmd, listen, "", store, ready, fills, func(ctx context.Context, log *slog.Logger) error {
		return self.Profile(ctx, store, self.Options{States: states, Notify: func(err error) { log.Warn("own profiles", "error", err) }})
	})
}
