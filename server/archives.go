package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/server/internal/archive"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/listing"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// archives has the archives of source files of each tenant.
type archives struct {
	dir     string
	bytes   int64 // of a tenant
	now     func() time.Time
	pushing sync.Mutex // held by a push

	mu  sync.Mutex
	own map[string]*archive.Folder // by tenant
}

// newArchives returns nil if none are kept.
func newArchives(opts *Options, l Limits) *archives {
	if opts.Archives == "" {
		return nil
	}
	return &archives{dir: opts.Archives, bytes: l.Archives, now: opts.Now, own: map[string]*archive.Folder{}}
}

func (a *archives) dirOf(tenant string) string { return filepath.Join(a.dir, "tenants", tenant) }

// of returns the archives of a tenant.
func (a *archives) of(tenant string) (*archive.Folder, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if own := a.own[tenant]; own != nil {
		return own, nil
	}
	own, err := archive.Open(a.dirOf(tenant), a.bytes, a.now)
	if err != nil {
		return nil, err
	}
	a.own[tenant] = own
	return own, nil
}

// known returns the archives of a tenant, or nil if it never pushed one: readers name any tenant.
func (a *archives) known(tenant string) (*archive.Folder, error) {
	if _, err := os.Stat(a.dirOf(tenant)); err != nil {
		return nil, nil
	}
	return a.of(tenant)
}

// textFunc returns what reads the lines of source files: of the caller's archive of a version, or else of Options.Sources. It is nil
// without both.
func (s *Server) textFunc() page.TextFunc {
	if s.archives == nil && s.sources == nil {
		return nil
	}
	return func(ctx context.Context, file, version string, first, last int) ([]string, error) {
		data, err := s.archived(ctx, file, version)
		if err == nil {
			return listing.Lines(data, first, last)
		}
		if s.sources != nil {
			lines, other := s.sources.Part(ctx, file, version, first, last)
			if !errors.Is(other, listing.ErrNoDir) {
				return lines, other
			}
		}
		return nil, err
	}
}

// archived returns a file of an archive that the caller's tenant pushed for a version.
func (s *Server) archived(ctx context.Context, file, version string) ([]byte, error) {
	if s.archives == nil || version == "" {
		return nil, listing.ErrNoDir
	}
	own, err := s.archives.known(web.CallerOf(ctx).Tenant)
	if err != nil {
		s.logError(ctx, "archives", err)
	}
	if own == nil {
		return nil, listing.ErrNoDir
	}
	return own.Read(file, version)
}

// archivesOf returns an error for a server that keeps no archives.
func (s *Server) archivesOf(of source.Source) error {
	if _, err := of.Store(source.Archives); err != nil {
		return err
	}
	if s.archives == nil {
		return fault.Refused("this server keeps no archives: it has no directory")
	}
	return nil
}

// keepArchive handles POST /archives: it keeps the source files of a version for a tenant.
func (s *Server) keepArchive(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if err := s.archivesOf(of); err != nil {
			return err
		}
		query, err := question.ParseQuery(r.URL.RawQuery, []string{"version", "prefix", "strip"})
		if err != nil {
			return err
		}
		strip, err := strconv.ParseUint(cmp.Or(query.Get("strip"), "0"), 10, 5)
		if err != nil {
			return fault.Invalid("parameter strip: want the number of folders to leave out, 0 to 31, not %s", fault.Quoted(query.Get("strip")))
		}
		tenant := web.CallerOf(r.Context()).Tenant
		if err := s.mayKeep(tenant, s.archives.dirOf(tenant)); err != nil {
			return err
		}
		if !s.archives.pushing.TryLock() {
			return fault.TooMany("one push of an archive at a time")
		}
		defer s.archives.pushing.Unlock()
		own, err := s.archives.of(tenant)
		if err != nil {
			return archiveError(err)
		}
		kept, err := own.Add(r.Context(), query.Get("version"), query.Get("prefix"), int(strip), r.Body)
		if err != nil {
			return archiveError(err)
		}
		if err := s.kept(r.Context(), s.archives.dirOf(tenant)); err != nil {
			return err
		}
		return web.SendJSON(w, r, s.limits.ResultBytes, kept)
	})
}

// listArchives handles GET /archives.
func (s *Server) listArchives(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if err := s.archivesOf(of); err != nil {
			return err
		}
		out := struct {
			Archives []archive.Archive `json:"archives"`
		}{[]archive.Archive{}}
		own, err := s.archives.known(web.CallerOf(r.Context()).Tenant)
		if err != nil {
			return archiveError(err)
		}
		if own != nil {
			out.Archives = append(out.Archives, own.List()...)
		}
		return web.SendJSON(w, r, s.limits.ResultBytes, out)
	})
}

// removeArchive handles DELETE /archives: it removes the archive of a version and a prefix.
func (s *Server) removeArchive(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if err := s.archivesOf(of); err != nil {
			return err
		}
		query, err := question.ParseQuery(r.URL.RawQuery, []string{"version", "prefix"})
		if err != nil {
			return err
		}
		tenant := web.CallerOf(r.Context()).Tenant
		own, err := s.archives.known(tenant)
		found := false
		if own != nil {
			found, err = own.Remove(query.Get("version"), query.Get("prefix"))
		}
		if err != nil {
			return archiveError(err)
		}
		if own != nil {
			err = s.kept(r.Context(), s.archives.dirOf(tenant))
		}
		switch {
		case err != nil:
			return err
		case !found:
			return fault.Missing("there is no archive of version %s and prefix %s", fault.Quoted(query.Get("version")), fault.Quoted(query.Get("prefix")))
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// archiveError returns an error of archives, or of the file system.
func archiveError(err error) error {
	if _, ofDisk := errors.AsType[*os.PathError](err); ofDisk {
		return fmt.Errorf("%w: archives: %w", disk.ErrDisk, err)
	}
	switch {
	case errors.Is(err, archive.ErrTooMuch):
		return fault.TooLarge("archive: %v", err)
	case errors.Is(err, archive.ErrUnknown):
		return fault.Invalid("archive: %w", err)
	}
	return err
}
