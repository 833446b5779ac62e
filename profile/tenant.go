package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
)

// Anonymous is the tenant of profiles that come without the name of one.
const Anonymous = "anonymous"

// ErrTenant reports an invalid name of a tenant.
var ErrTenant = errors.New("tenant")

const (
	maxTenant   = 150 // bytes of a name
	tenantRoom  = "tenants/"
	tenantChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!-_.*'()"
)

// CheckTenant returns ErrTenant for a name that Grafana's servers do not take either: they take 1 to 150 letters, digits
// and !-_.*'(). The names ".", ".." and "*" are refused too, because they mean something else in paths and lists. A
// name such as a|b asks for two tenants at once, which is not supported.
func CheckTenant(name string) error {
	switch {
	case name == "" || len(name) > maxTenant:
		return fmt.Errorf("%w: a name of %d bytes, want 1 to %d", ErrTenant, len(name), maxTenant)
	case strings.Contains(name, "|"):
		return fmt.Errorf("%w: %.*q is several: ask for one at a time", ErrTenant, maxTenant, name)
	case strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(tenantChars, r) }),
		name == ".", name == "..", name == "*":
		return fmt.Errorf("%w: %q, want letters, digits and !-_.*'()", ErrTenant, name)
	}
	return nil
}

// TenantName returns the name in a store of what a tenant calls name: a table or a history. Anonymous, which "" stands for
// too, has the names without a prefix. The others have theirs below tenants/NAME/. CheckOwnName keeps Anonymous from there.
func TenantName(tenant, name string) string {
	if tenant == "" || tenant == Anonymous {
		return name
	}
	return tenantRoom + tenant + "/" + name
}

// CheckOwnName returns ErrTenant for a name of a table or a history that lies below tenants/, where TenantName puts those of
// tenants.
func CheckOwnName(name string) error {
	if strings.HasPrefix(name, tenantRoom) {
		return fmt.Errorf("%w: the name %q is one of another tenant's", ErrTenant, name)
	}
	return nil
}

// Tenants returns the tenants that have a table of profiles in a store, sorted. An empty table means DefaultTable.
func Tenants(store *columnstore.Store, table string) []string {
	table = cmp.Or(table, DefaultTable)
	var all []string
	for _, t := range store.Tables() {
		if t.Name() == table {
			all = append(all, Anonymous)
		} else if name, ok := strings.CutPrefix(t.Name(), tenantRoom); ok {
			if tenant, of, _ := strings.Cut(name, "/"); of == table {
				all = append(all, tenant)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Tenant returns the tenant whose profiles these are.
func (db *DB) Tenant() string { return db.opts.Tenant }

// TenantHistory returns the history of a tenant with a name, or nil.
func TenantHistory(store *columnstore.Store, tenant, name string) *columnstore.History {
	full := TenantName(tenant, name)
	if _, ok := ownName(tenant, full); !ok {
		return nil
	}
	return store.History(full)
}

// TenantHistories returns the names of a tenant's histories, in the order of their creation.
func TenantHistories(store *columnstore.Store, tenant string) (names []string) {
	for _, h := range store.Histories() {
		if name, ok := ownName(tenant, h.Name()); ok {
			names = append(names, name)
		}
	}
	return names
}

// ownName returns what a tenant calls the history with a name in a store, if it is the tenant's.
func ownName(tenant, full string) (name string, ok bool) {
	if tenant == "" || tenant == Anonymous {
		return full, !strings.HasPrefix(full, tenantRoom)
	}
	return strings.CutPrefix(full, TenantName(tenant, ""))
}
