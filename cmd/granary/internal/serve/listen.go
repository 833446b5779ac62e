package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/granarydb/granary/server"
)

// run answers requests on a listener until the context ends, or the listener takes no more connections, and then drains them.
func (f *flags) run(ctx context.Context, log *slog.Logger, handle *server.Server, secrets *secrets, l net.Listener) error {
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC without TLS
	web := &http.Server{
		Handler: f.handler(handle), Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return requests },
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	served := make(chan error, 1)
	go func() { served <- f.accept(web, secrets, l) }()
	for {
		select {
		case <-hup:
			f.reload(log, handle, secrets)
		case err := <-served:
			return errors.Join(err, f.shutdown(log, web, handle, cut))
		case <-ctx.Done():
			return errors.Join(f.shutdown(log, web, handle, cut), <-served)
		}
	}
}

// accept serves the connections of a listener until the server is shut down.
func (f *flags) accept(web *http.Server, secrets *secrets, l net.Listener) error {
	var err error
	if secrets.cert.Load() != nil {
		web.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: secrets.certificate}
		err = web.ServeTLS(l, "", "")
	} else {
		err = web.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// A server that is told to end does so within --drain and 5 seconds. Requests that are cut have cutTime to end. The store is
// closed then: their pushes fail, and their queries still have its snapshots. It writes files for closeTime: the next
// start reads the rest from the log.
const cutTime, closeTime = 2 * time.Second, 2 * time.Second

// shutdown waits for the requests in progress, and cuts the ones that take longer than --drain.
func (f *flags) shutdown(log *slog.Logger, web *http.Server, handle *server.Server, cut context.CancelFunc) error {
	log.Info("shutting down", "drain", f.drain)
	f.each(handle, (*server.Server).Drain)
	ctx, cancel := context.WithTimeout(context.Background(), f.drain)
	defer cancel()
	err := web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("requests in progress were cut", "after", f.drain)
		err = web.Close()
	}
	cut()
	ended, cancel := context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	f.each(handle, func(s *server.Server) { // handlers of cut connections still use the store
		if err := s.Wait(ended); err != nil {
			log.Error("requests do not end", "error", err)
		}
	})
	return err
}

// reload reads tokens, tenants, budgets, rules and certificates again. If a file cannot be read, all stay unchanged.
func (f *flags) reload(log *slog.Logger, handle *server.Server, secrets *secrets) {
	next, err := f.files.load(f.budgets(), f.limits)
	if err == nil {
		err = f.checkBudgets(next.budgets)
	}
	if err == nil {
		err = f.setBudgets(next) // first, because the store can refuse them
	}
	if err == nil {
		err = f.setTenants(handle, next)
	}
	if err == nil {
		err = f.setRules(handle, next)
	}
	if err != nil {
		log.Error("reload failed: tokens, rules and certificates are unchanged", "error", err)
		return
	}
	if err := f.setTokens(handle, next); err != nil {
		log.Error("reload failed: tokens and certificates are unchanged", "error", err)
		return
	}
	secrets.cert.Store(next.cert.Load())
	secrets.writes.Store(next.writes.Load())
	log.Info("reloaded", "read tokens", len(next.tokens.Read), "write tokens", len(next.tokens.Write), "tenants", len(next.tenants), "rules", len(next.rules.Names()))
}

// setTokens replaces the tokens of each server.
func (f *flags) setTokens(handle *server.Server, s *secrets) error {
	err := handle.SetTokens(s.tokens)
	if err == nil && f.own != nil {
		err = f.own.handle.SetTokens(s.unbound())
	}
	return err
}

// setTenants replaces the limits of tenants. A front has none.
func (f *flags) setTenants(handle *server.Server, s *secrets) error {
	if f.isFront() {
		return nil
	}
	return handle.SetTenants(s.tenants)
}
