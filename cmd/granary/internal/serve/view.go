package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server"
)

// View serves a store until the command's context ends or SIGTERM arrives. When it listens, it prints its URL
// on standard output, with a query for the page ("" or ?name=value), and calls ready with the URL. The caller
// closes the store.
func View(cmd *cobra.Command, listen, query string, store *columnstore.Store, ready func(url string)) error {
	f := flags{listen: listen, drain: time.Second}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	handle, err := server.New(store, server.Options{Log: log})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	l, url, err := f.listenSaying(cmd, log, query)
	if err != nil {
		return err
	}
	ready(url)
	return f.run(ctx, log, handle, new(secrets), l)
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
