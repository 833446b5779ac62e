package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server"
	"github.com/granarydb/granary/server/self"
)

// ownBytes is the memory budget for the server's own profiles.
const ownBytes = 32 << 20

// own is the state of --self: the server's own profiles, in a separate store in memory.
type own struct {
	store  *columnstore.Store
	handle *server.Server
	stop   context.CancelFunc
	ended  chan error
}

// profileSelf starts to profile this process.
func (f *flags) profileSelf(ctx context.Context, log *slog.Logger, secrets *secrets) (*own, error) {
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: ownBytes})
	if err != nil {
		return nil, err
	}
	o := &own{store: store, ended: make(chan error, 1)}
	limits := f.limits // an eighth of the memory of queries, which is beside --memory-total
	limits.Queries, limits.AnswerBytes = max(1, limits.Queries/8), limits.AnswerBytes/8
	limits.ResultBytes = min(limits.ResultBytes, limits.AnswerBytes)
	o.handle, err = server.New(store, server.Options{Limits: limits, Tokens: secrets.unbound(), Hosts: f.hosts, Log: log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	opts := self.Options{Notify: func(err error) { log.Warn("--self", "error", err) }}
	if f.ownStates {
		if opts.States, err = store.CreateHistory("goroutines", columnstore.HistoryOptions{}); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	ctx, o.stop = context.WithCancel(ctx)
	go func() { o.ended <- self.Profile(ctx, store, opts) }()
	return o, nil
}

// close stops the profiling and closes the store. No request may be in progress.
func (o *own) close() error {
	o.stop()
	if err := errors.Join(<-o.ended, o.store.Close()); err != nil {
		return fmt.Errorf("--self: %w", err)
	}
	return nil
}

// handler returns the handler of all requests. Queries below /self read the server's own profiles; pushes to
// /self are refused.
func (f *flags) handler(handle *server.Server) http.Handler {
	if f.own == nil {
		return handle
	}
	mux := http.NewServeMux()
	mux.Handle("/", handle)
	mux.Handle("GET /self/", http.StripPrefix("/self", f.own.handle))
	mux.Handle("POST /self/querier.v1.QuerierService/", http.StripPrefix("/self", f.own.handle))
	return mux
}

// selfPath is where the page of a server links to its own profiles.
func (f *flags) selfPath() string {
	if !f.self {
		return ""
	}
	return "self/"
}

// each calls a function with each server that answers requests.
func (f *flags) each(handle *server.Server, do func(*server.Server)) {
	do(handle)
	if f.own != nil {
		do(f.own.handle)
	}
}
