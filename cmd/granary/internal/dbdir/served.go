package dbdir

import (
	"context"

	"github.com/granarydb/granary/server"
)

// servedKey is the key of a context with what a server answers from.
type servedKey struct{}

// WithServed returns a context in which commands that only query ask a running server's profiles in place of the directory --db, which
// the server has open.
func WithServed(ctx context.Context, of *server.Assisted) context.Context {
	return context.WithValue(ctx, servedKey{}, of)
}

// ServedOf returns what WithServed gave the context, or nil.
func ServedOf(ctx context.Context) *server.Assisted {
	of, _ := ctx.Value(servedKey{}).(*server.Assisted)
	return of
}
