package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/granarydb/granary/internal/debugfiles"
	"github.com/granarydb/granary/internal/debuginfo"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// SymbolOptions says where the names of addresses are, which profiles of native or stripped programs have instead of functions.
// Profiles are stored with the names that are known when they are pushed; later names show in answers. Binaries are told apart
// by their build ids.
type SymbolOptions struct {
	// Keep is a directory for files that POST /symbols takes, each tenant's by themselves, and that a debuginfod server sends.
	// It is made when it is needed. Empty means that there are none.
	Keep string
	// Dirs are directories with files for all tenants. New ones are found within a minute.
	Dirs []string
	// Debuginfod is the URL of a server for all tenants. It needs Keep, and Server.FetchSymbols.
	Debuginfod string
	// Memory bounds what is read of the files, at most. 0 means 512 MiB. A file that needs more names nothing.
	Memory int64
}

// symbolFiles has the files of all tenants, and of each.
type symbolFiles struct {
	opts      SymbolOptions
	bytes     int64 // of a tenant's files
	pool      *debugfiles.Pool
	shared    *debugfiles.Finder
	uploading sync.Mutex // held by a push

	mu  sync.RWMutex
	own map[string]*debugfiles.Finder // by tenant
}

// newSymbolFiles returns nil if there is nothing to name addresses by.
func newSymbolFiles(opts SymbolOptions, l Limits) (*symbolFiles, error) {
	if opts.Keep == "" && len(opts.Dirs) == 0 {
		return nil, nil
	}
	const memory = 512 << 20
	if opts.Memory == 0 {
		opts.Memory = memory
	}
	f := &symbolFiles{opts: opts, bytes: l.Symbols, pool: debugfiles.NewPool(opts.Memory), own: map[string]*debugfiles.Finder{}}
	shared := debugfiles.Options{Dirs: opts.Dirs, Pool: f.pool}
	if opts.Debuginfod != "" {
		shared.Debuginfod, shared.Keep, shared.KeepBytes = opts.Debuginfod, filepath.Join(opts.Keep, "debuginfod"), l.Symbols
	}
	var err error
	f.shared, err = debugfiles.New(shared)
	return f, err
}

// of returns the files that a tenant pushed.
func (f *symbolFiles) of(tenant string) (*debugfiles.Finder, error) {
	f.mu.RLock()
	own := f.own[tenant]
	f.mu.RUnlock()
	if own != nil {
		return own, nil
	}
	own, err := debugfiles.New(debugfiles.Options{Keep: f.dirOf(tenant), KeepBytes: f.bytes, Pool: f.pool})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own[tenant] == nil {
		f.own[tenant] = own
	}
	return f.own[tenant], nil
}

func (f *symbolFiles) dirOf(tenant string) string {
	return filepath.Join(f.opts.Keep, "tenants", tenant)
}

// names returns profile.Options.Names of a tenant: its own files come first. It returns nil without files.
func (f *symbolFiles) names(tenant string) func(profile.Address) []profile.Frame {
	if f == nil {
		return nil
	}
	return func(a profile.Address) []profile.Frame {
		of := debugfiles.Binary{File: a.Mapping, BuildID: a.BuildID}
		at := debuginfo.MappedAddress{Start: a.Start, Offset: a.Offset, Address: a.Address}
		var found []debuginfo.NamedFrame
		if own, err := f.of(tenant); err == nil && f.opts.Keep != "" {
			found = own.Frames(of, at)
		}
		if len(found) == 0 {
			found = f.shared.Frames(of, at)
		}
		frames := make([]profile.Frame, len(found))
		for i, n := range found {
			frames[i] = profile.Frame{Function: n.Function, File: n.File, Line: n.Line}
		}
		return frames
	}
}

// close closes all files.
func (f *symbolFiles) close() error {
	if f == nil {
		return nil
	}
	return f.pool.Close()
}

// FetchSymbols fetches files from the debuginfod server that questions and pushes missed, until ctx is done. A program with
// SymbolOptions.Debuginfod runs it beside the server.
func (s *Server) FetchSymbols(ctx context.Context) {
	const every = time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	for s.symbols != nil {
		found, err := s.symbols.shared.FetchWanted(ctx)
		if err != nil && ctx.Err() == nil {
			s.opts.Log.InfoContext(ctx, "no symbols", "error", err)
		}
		if found && ctx.Err() == nil {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// symbolsHandler handles POST /symbols: it keeps a binary, its debug information or a Breakpad symbol file for a tenant.
func (s *Server) symbolsHandler(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := of.Store(source.Pushes); err != nil {
			return err
		}
		if s.symbols == nil || s.symbols.opts.Keep == "" {
			return fault.Refused("this server keeps no symbols: it has no directory")
		}
		tenant := web.CallerOf(r.Context()).Tenant
		if err := s.mayKeep(tenant, s.symbols.dirOf(tenant)); err != nil {
			return err
		}
		if !s.symbols.uploading.TryLock() {
			return fault.TooMany("one push of symbols at a time")
		}
		defer s.symbols.uploading.Unlock()
		own, err := s.symbols.of(tenant)
		if err != nil {
			return err
		}
		kept, err := own.Add(r.Body)
		if err != nil {
			return symbolsError(err)
		}
		if err := s.kept(r.Context(), s.symbols.dirOf(tenant)); err != nil {
			return err
		}
		if one := s.tenants.get(tenant); one != nil {
			one.source.Forget() // answers have the names
		}
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(struct {
			BuildID string `json:"build_id"`
			Kind    string `json:"kind"`
			Bytes   int64  `json:"bytes"`
		}{kept.BuildID, kept.Kind, kept.Bytes})
	})
}

// mayKeep returns an error for a tenant that may not push, or whose directory for files would be one too many.
func (s *Server) mayKeep(tenant, dir string) error {
	s.tenants.mu.RLock()
	_, may := s.tenants.limitsOf(tenant)
	s.tenants.mu.RUnlock()
	if !may {
		return fault.Denied("tenant %s: it is none of this server's", fault.Quoted(tenant))
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if all, err := os.ReadDir(filepath.Dir(dir)); err == nil && len(all) >= s.limits.Tenants {
		return fault.TooMany("at most %d tenants with files", s.limits.Tenants)
	}
	return nil
}

// symbolsError returns an error of a push of symbols, or of the file system.
func symbolsError(err error) error {
	if _, ofDisk := errors.AsType[*os.PathError](err); ofDisk {
		return fmt.Errorf("%w: symbols: %w", disk.ErrDisk, err)
	}
	switch {
	case errors.Is(err, debugfiles.ErrTooMuch):
		return fault.TooLarge("symbols: %v", err)
	case errors.Is(err, debugfiles.ErrUnknown):
		return fault.Invalid("symbols: %w", err)
	}
	return err
}
