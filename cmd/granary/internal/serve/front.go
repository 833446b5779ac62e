package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/server"
)

// notOfFronts are the flags that apply only to a server with a store. A front has no store, and takes no
// pushes.
var notOfFronts = []string{
	"db", "in-memory", "sync", "memory", "disk", "retention", "drop-label", "write-tokens",
	"max-profiles", "max-labels", "max-label-name", "max-label-value", "max-series", "max-tenants", "max-push-memory",
}

func (f *flags) isFront() bool { return len(f.nodes.URLs) > 0 }

// checkNodes returns a usage error for flags of a front without --query-from, and for flags of a store with
// it.
func (f *flags) checkNodes(fs *pflag.FlagSet) error {
	if !f.isFront() {
		names := []string{"query-from", "partial-answers", "query-token-file"}
		if i := slices.IndexFunc(names, fs.Changed); i >= 0 {
			return cli.Usage(fmt.Errorf("--%s: --query-from names no server to ask", names[i]))
		}
		return nil
	}
	if i := slices.IndexFunc(notOfFronts, fs.Changed); i >= 0 {
		return cli.Usage(fmt.Errorf("--%s and --query-from: a server that asks others stores nothing and takes no pushes: leave one of them out", notOfFronts[i]))
	}
	return nil
}

// serveNodes serves a front until the context ends.
func (f *flags) serveNodes(ctx context.Context, log *slog.Logger, secrets *secrets) error {
	handle, err := server.NewFront(f.nodes, server.Options{Limits: f.limits, Tokens: secrets.tokens, Hosts: f.hosts, Log: log})
	if errors.Is(err, server.ErrNode) {
		return cli.Usage(fmt.Errorf("--query-from: %w", err))
	}
	if err != nil {
		return err
	}
	return f.listenAnd(ctx, log, handle, secrets, "nodes", f.nodes.URLs)
}
