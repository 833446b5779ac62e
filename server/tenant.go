package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

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

	mu     sync.RWMutex
	open   map[string]*tenant
	limits map[string]TenantLimits
	nobody *tenant // of a store without profiles: answers tenants that have none
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

// all returns the open tenants.
func (t *tenants) all() []*tenant {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Values(t.open))
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
// of a tenant. Errors are profile.ErrTenant and columnstore.ErrOptions; nothing is replaced then.
func (s *Server) SetTenants(limits map[string]TenantLimits) error {
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
	for _, name := range profile.Tenants(s.tenants.store) {
		if err := s.limitTable(name); err != nil {
			return err
		}
	}
	return nil
}

// limitTable sets the limits of a tenant's table. The caller holds tenants.mu.
func (s *Server) limitTable(name string) error {
	l, _ := s.tenants.limitsOf(name)
	return s.tenants.store.Table(profile.TenantName(name, profile.DefaultTable)).SetLimits(l.TableLimits)
}

// hasTable reports whether a tenant has profiles, or had some.
func (s *Server) hasTable(name string) bool {
	return s.tenants.store.Table(profile.TenantName(name, profile.DefaultTable)) != nil
}

// seriesOf returns how many sets of labels a tenant may push in an hour, or 0.
func (s *Server) seriesOf(name string) int {
	s.tenants.mu.RLock()
	defer s.tenants.mu.RUnlock()
	l, _ := s.tenants.limitsOf(name)
	return l.Series
}

// openTenant returns a tenant. It makes the table of a tenant without one, which a push is about to fill.
func (s *Server) openTenant(name string) (*tenant, error) {
	s.tenants.mu.RLock()
	t := s.tenants.open[name]
	_, may := s.tenants.limitsOf(name)
	s.tenants.mu.RUnlock()
	if t != nil && may {
		return t, nil
	}
	s.tenants.mu.Lock()
	defer s.tenants.mu.Unlock()
	if _, may := s.tenants.limitsOf(name); !may {
		return nil, fault.Denied("tenant %s: it is none of this server's", fault.Quoted(name))
	}
	if !s.hasTable(name) && len(profile.Tenants(s.tenants.store)) >= s.limits.Tenants {
		return nil, fault.TooMany("%d tenants", s.limits.Tenants)
	}
	return s.open(name)
}

// pushDB returns the profiles of a tenant that pushes.
func (s *Server) pushDB(name string) (*profile.DB, error) {
	t, err := s.openTenant(name)
	if err != nil {
		return nil, err
	}
	return t.source.DB(), nil
}

// open opens a tenant, unless it is open. The caller holds tenants.mu.
func (s *Server) open(name string) (*tenant, error) {
	if t := s.tenants.open[name]; t != nil {
		return t, nil
	}
	opts := s.opts.Profiles
	if opts.Tenant = name; name != profile.Anonymous {
		opts = opts.As(s.tenants.store)
	}
	db, err := profile.Open(s.tenants.store, opts)
	if err == nil {
		err = s.limitTable(name)
	}
	if err != nil {
		return nil, err
	}
	t := s.newTenant(db, name == profile.Anonymous && s.opts.Older != nil)
	s.tenants.open[name] = t
	return t, nil
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
	s.tenants.mu.RLock()
	t := s.tenants.open[name]
	s.tenants.mu.RUnlock()
	if t != nil {
		return t.mux, nil
	}
	if !s.hasTable(name) {
		return s.tenants.nobody.mux, nil
	}
	s.tenants.mu.Lock()
	defer s.tenants.mu.Unlock()
	t, err := s.open(name)
	if err != nil {
		return nil, err
	}
	return t.mux, nil
}

// nameTenant returns a request whose context has its tenant, and whose path has none. The path (/tenants/NAME/...), the
// header and the token name the tenant; a request of none is anonymous.
func (s *Server) nameTenant(r *http.Request) (*http.Request, error) {
	named := slices.DeleteFunc(slices.Clone(r.Header.Values(web.TenantHeader)), func(name string) bool { return name == "" })
	inPath := ""
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), tenantPath); ok {
		inside := ""
		inPath, inside, _ = strings.Cut(rest, "/")
		name, err := url.PathUnescape(inPath)
		if err != nil {
			return nil, fault.Invalid("path: %w", err)
		}
		named = append(named, name)
		r = below(r, inside)
	}
	name := profile.Anonymous
	if len(named) > 0 {
		name = named[0]
	}
	for _, other := range named {
		if err := profile.CheckTenant(other); err != nil {
			return nil, err
		}
		if other != name {
			return nil, fault.Invalid("tenant: the request names %s and %s", fault.Quoted(name), fault.Quoted(other))
		}
	}
	if own := s.grants.Load().of(r).tenant; own != "" {
		if len(named) > 0 && name != own {
			return nil, fault.Denied("token: it is for another tenant than %s", fault.Quoted(name))
		}
		name = own
	}
	return r.WithContext(web.WithTenant(r.Context(), name)), nil
}

// tenantPath begins the paths of a tenant.
const tenantPath = "/tenants/"

// completeTenantPath redirects to a tenant's page from its path without the last slash, and reports whether it did.
func completeTenantPath(w http.ResponseWriter, r *http.Request) bool {
	name, ok := strings.CutPrefix(r.URL.EscapedPath(), tenantPath)
	if !ok || strings.Contains(name, "/") || r.Method != http.MethodGet {
		return false
	}
	redirect(w, r, name)
	return true
}

// below returns a request for an escaped path without its slash.
func below(r *http.Request, inside string) *http.Request {
	r = r.WithContext(r.Context())
	u := *r.URL
	u.RawPath = "/" + inside
	u.Path, _ = url.PathUnescape(u.RawPath) // it is a part of a path that was parsed
	r.URL = &u
	return r
}
