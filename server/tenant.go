package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// TenantLimits bounds the profiles of one tenant.
type TenantLimits struct {
	columnstore.TableLimits
	// Series is the number of sets of labels that the tenant may push in an hour. 0 means Limits.Series.
	Series int
}

// TenantHeader is the header of a request that names its tenant.
const TenantHeader = web.TenantHeader

// OtherTenants is the key in a map of tenants' limits for the tenants that it does not name.
const OtherTenants = "*"

// tenant is what the server answers one tenant from. No handler of its mux reaches the profiles of another.
type tenant struct {
	source *source.Store
	mux    *http.ServeMux
}

// tenants has the tenants of a store that were asked or pushed since the start. It is safe for concurrent use.
type tenants struct {
	store *columnstore.Store // nil for a front

	opening sync.Mutex // held while a tenant is opened

	mu     sync.RWMutex
	open   map[string]*tenant
	limits map[string]TenantLimits
	nobody *tenant // of a store without profiles: answers tenants that have none

	tidied atomic.Int64 // time of the last tidying of all, Unix nanoseconds
}

// close drops what is held for later queries.
func (t *tenants) close() error {
	for _, one := range t.all() {
		one.source.Close()
	}
	if t.nobody == nil {
		return nil
	}
	t.nobody.source.Close()
	return t.nobody.source.DB().Store().Close()
}

// tidyEvery is the time between two tidyings of all tenants.
const tidyEvery = time.Second

// tidy drops what was held for later queries and has expired, of all tenants, unless it did so just before.
func (t *tenants) tidy(now time.Time) {
	last := t.tidied.Load()
	if past := now.UnixNano() - last; past >= 0 && past < int64(tidyEvery) || !t.tidied.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	for _, one := range t.all() {
		one.source.Tidy()
	}
}

// all returns the open tenants.
func (t *tenants) all() []*tenant {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Values(t.open))
}

// get returns an open tenant, or nil.
func (t *tenants) get(name string) *tenant {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.open[name]
}

// limitsOf returns the limits of a tenant, and whether it may push. The caller holds mu.
func (t *tenants) limitsOf(name string) (TenantLimits, bool) {
	l, ok := t.limits[name]
	if !ok {
		l, ok = t.limits[OtherTenants]
	}
	return l, ok || t.limits == nil
}

// SetTenants replaces the tenants' limits (Options.Tenants). Rows beyond them are dropped with the next commit or the next files
// of a tenant. Errors are profile.ErrTenant, ErrLimit for a negative limit, and that of pushes for a front; nothing is replaced then.
func (s *Server) SetTenants(limits map[string]TenantLimits) error {
	if s.tenants.store == nil {
		_, err := s.source.Store(source.Pushes)
		return err
	}
	for name, l := range limits {
		if name != OtherTenants {
			if err := profile.CheckTenant(name); err != nil {
				return err
			}
		}
		if l.Series < 0 || l.Retention < 0 || l.FileBytes < 0 {
			return fmt.Errorf("%w of tenant %s: %+v, want 0 or more", ErrLimit, fault.Quoted(name), l)
		}
	}
	s.tenants.mu.Lock()
	defer s.tenants.mu.Unlock()
	s.tenants.limits = maps.Clone(limits)
	for _, name := range profile.Tenants(s.tenants.store, s.opts.Profiles.Table) {
		if err := s.limitTable(name); err != nil {
			return err
		}
	}
	return nil
}

// limitTable sets the limits of a tenant's table. The caller holds tenants.mu.
func (s *Server) limitTable(name string) error {
	l, _ := s.tenants.limitsOf(name)
	return s.tableOf(name).SetLimits(l.TableLimits)
}

// tableOf returns a tenant's table, or nil.
func (s *Server) tableOf(name string) *columnstore.Table {
	return s.tenants.store.Table(profile.TenantName(name, cmp.Or(s.opts.Profiles.Table, profile.DefaultTable)))
}

// seriesOf returns how many sets of labels a tenant may push in an hour, or 0.
func (s *Server) seriesOf(name string) int {
	s.tenants.mu.RLock()
	defer s.tenants.mu.RUnlock()
	l, _ := s.tenants.limitsOf(name)
	return l.Series
}

// keepOf returns how long a tenant keeps rows and states, or 0.
func (s *Server) keepOf(name string) time.Duration {
	s.tenants.mu.RLock()
	defer s.tenants.mu.RUnlock()
	l, _ := s.tenants.limitsOf(name)
	return l.Retention
}

// pushDB returns the profiles of a tenant that pushes, or nil if it has none and may.
func (s *Server) pushDB(name string) (*profile.DB, error) {
	s.tenants.mu.RLock()
	t := s.tenants.open[name]
	_, may := s.tenants.limitsOf(name)
	s.tenants.mu.RUnlock()
	switch {
	case !may:
		return nil, fault.Denied("tenant %s: it is none of this server's", fault.Quoted(name))
	case t != nil:
		return t.source.DB(), nil
	case s.tableOf(name) != nil:
		return s.makeDB(name)
	case len(profile.Tenants(s.tenants.store, s.opts.Profiles.Table)) >= s.limits.Tenants:
		return nil, fault.TooMany("at most %d tenants of this server", s.limits.Tenants)
	}
	return nil, nil
}

// makeDB returns the profiles of a tenant, and makes its table if it has none.
func (s *Server) makeDB(name string) (*profile.DB, error) {
	t, err := s.open(name)
	if err != nil {
		return nil, err
	}
	return t.source.DB(), nil
}

// open opens a tenant, unless it is open. A new table waits for the disk, so tenants.mu, which each request takes, is free
// meanwhile.
func (s *Server) open(name string) (*tenant, error) {
	s.tenants.opening.Lock()
	defer s.tenants.opening.Unlock()
	t := s.tenants.get(name)
	if t != nil {
		return t, nil
	}
	opts := s.opts.Profiles
	opts.Names = s.symbols.names(name)
	if opts.Tenant = name; name != profile.Anonymous {
		opts = opts.As(s.tenants.store)
	}
	db, err := profile.Open(s.tenants.store, opts)
	if err != nil {
		return nil, err
	}
	t = s.newTenant(db, name == profile.Anonymous && s.opts.Older != nil)
	s.tenants.mu.Lock()
	defer s.tenants.mu.Unlock()
	if err := s.limitTable(name); err != nil {
		return nil, err
	}
	s.tenants.open[name] = t
	return t, nil
}

// known returns a tenant, or nil if it has no profiles.
func (s *Server) known(name string) (*tenant, error) {
	if t := s.tenants.get(name); t != nil || s.tableOf(name) == nil {
		return t, nil
	}
	return s.open(name)
}

// newTenant returns a tenant for its profiles.
func (s *Server) newTenant(db *profile.DB, hasOlder bool) *tenant {
	of := source.NewStore(db, s.read)
	return &tenant{of, s.newMux(of, hasOlder)}
}

// muxOf returns the handlers for a tenant's requests.
func (s *Server) muxOf(name string) (*http.ServeMux, error) {
	if s.tenants.store == nil {
		return s.mux, nil // the nodes of a front know the tenant
	}
	t, err := s.known(name)
	if err != nil {
		return nil, err
	}
	if t == nil {
		t = s.tenants.nobody
	}
	t.source.Tidy()
	return t.mux, nil
}

// nameCaller returns a request whose context has its caller, and whose path has no tenant. The path (/tenants/NAME/...), the
// header and the token name the tenant; a request of none is anonymous.
func (s *Server) nameCaller(r *http.Request) (*http.Request, error) {
	named := slices.DeleteFunc(slices.Clone(r.Header.Values(web.TenantHeader)), func(name string) bool { return name == "" })
	inPath, inside, err := tenantInPath(r)
	if err != nil {
		return nil, err
	}
	g := s.grants.Load().of(r)
	c := web.Caller{Tenant: profile.Anonymous, Read: g.read, Write: g.write, Bound: g.tenant != ""}
	if c.InPath = inPath != ""; c.InPath {
		named = append(named, inPath)
	}
	if len(named) > 0 {
		c.Tenant = named[0]
	} else if c.Bound {
		c.Tenant = g.tenant
	}
	for _, name := range named {
		if err := profile.CheckTenant(name); err != nil {
			return nil, err
		}
		if name != c.Tenant {
			return nil, fault.Invalid("tenant: the request names %s and %s", fault.Quoted(c.Tenant), fault.Quoted(name))
		}
	}
	if c.Bound && c.Tenant != g.tenant {
		return nil, fault.Denied("token: it is for another tenant than %s", fault.Quoted(c.Tenant))
	}
	return inside.WithContext(web.WithCaller(inside.Context(), c)), nil
}

// tenantPath begins the paths of a tenant.
const tenantPath = "/tenants/"

// tenantInPath returns the tenant in a path, and the request without it. A path that is not clean is an error: the handlers
// would redirect to a clean one, which has no tenant.
func tenantInPath(r *http.Request) (name string, inside *http.Request, err error) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), tenantPath)
	if !ok {
		return "", r, nil
	}
	escaped, below, _ := strings.Cut(rest, "/")
	if name, err = url.PathUnescape(escaped); err == nil {
		err = profile.CheckTenant(name)
	}
	if err != nil {
		return "", nil, fault.Invalid("path: %w", err)
	}
	inside = within(r, below)
	if at := inside.URL.Path; path.Clean(at) != strings.TrimSuffix(at, "/") && at != "/" {
		return "", nil, fault.Invalid("path: want one without //, . and .., not %s", fault.Quoted(at))
	}
	return name, inside, nil
}

// completeTenantPath redirects to a tenant's page from its path without the last slash, and reports whether it did.
func completeTenantPath(w http.ResponseWriter, r *http.Request) bool {
	name, ok := strings.CutPrefix(r.URL.EscapedPath(), tenantPath)
	if !ok || profile.CheckTenant(name) != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	redirect(w, r, name)
	return true
}

// within returns a request for an escaped path without its slash.
func within(r *http.Request, inside string) *http.Request {
	r = r.WithContext(r.Context())
	u := *r.URL
	u.RawPath = "/" + inside
	u.Path, _ = url.PathUnescape(u.RawPath) // it is a part of a path that was parsed
	r.URL = &u
	return r
}
