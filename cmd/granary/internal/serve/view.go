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

// Listen listens on an address. A command calls it first, because a port in use must cost neither time nor a
// new directory. The caller closes the listener.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch host, _, _ := net.SplitHostPort(address); {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--listen %s: the port is in use: name another, or --listen %s for a free one", address, net.JoinHostPort(host, "0"))
	case err != nil:
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	return l, nil
}

// Page is what View shows.
type Page struct {
	Query   string // of the address that the page begins with: "" or ?name=value
	Sources []server.SourceDir
}

// View serves a store on a listener until the command's context ends or SIGTERM arrives. It prints the URL of its page on
// standard output, and calls ready with the URL. The caller closes the store and the listener.
//
// The functions of beside run meanwhile, until their context ends. An error of one ends View, unless View has
// already ended.
func View(cmd *cobra.Command, l net.Listener, page Page, store *columnstore.Store, ready func(url string), beside ...func(context.Context, *slog.Logger) error) error {
	f := flags{listen: l.Addr().String(), drain: time.Second}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	handle, err := server.New(store, server.Options{Profiles: dbdir.Profiles(store, ""), Sources: page.Sources, Log: log})
	if err != nil {
		return err
	}
	term, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	url, err := f.say(cmd, log, l, page.Query)
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

// say prints the URL of a listener's page, with a query, on standard output.
func (f *flags) say(cmd *cobra.Command, log *slog.Logger, l net.Listener, query string) (url string, err error) {
	f.announce(log, l.Addr())
	url = "http://" + l.Addr().String()
	if query != "" {
		url += "/" + query
	}
	end := ""
	if at, has := cmd.Context().Deadline(); has {
		end = fmt.Sprintf(", or for %v", time.Until(at).Round(100*time.Millisecond))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Serving %s until it is interrupted%s\n", url, end)
	return url, err
}

// DemoAddress is the default address of a demo.
const DemoAddress = "127.0.0.1:4040"

// Demo is View for a store that fill fills meanwhile. The store also gets the profiles of this process and the
// states of its goroutines. The errors are also those of fill and of self.Profile.
func Demo(cmd *cobra.Command, l net.Listener, store *columnstore.Store, fill func(context.Context, *profile.DB) error, ready func(url string)) error {
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	states, err := store.CreateHistory("goroutines", columnstore.HistoryOptions{Start: time.Now().UnixNano()})
	if err != nil {
		return err
	}
	fills := func(ctx context.Context, _ *slog.Logger) error { return fill(ctx, db) }
	return View(cmd, l, Page{}, store, ready, fills, func(ctx context.Context, log *slog.Logger) error {
		return self.Profile(ctx, store, self.Options{States: states, Notify: func(err error) { log.Warn("own profiles", "error", err) }})
	})
}
