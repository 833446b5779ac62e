package profile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/columnstore"
)

func TestCheckTenant(t *testing.T) {
	for _, name := range []string{"a", "anonymous", "team-a", "Team_A.1!*'()", strings.Repeat("x", 150), "...", "a*"} {
		if err := CheckTenant(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "*", "a b", "a/b", "a|b", "ä", "a\x00", "a%2f", strings.Repeat("x", 151)} {
		if err := CheckTenant(name); !errors.Is(err, ErrTenant) {
			t.Errorf("%q: %v, want ErrTenant", name, err)
		}
	}
}

// Each tenant has profiles and histories of its own, and names of one reach nothing of another.
func TestTenants(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := Open(store, Options{Tenant: "a/b"}); !errors.Is(err, ErrTenant) {
		t.Errorf("a tenant a/b: %v, want ErrTenant", err)
	}
	if _, err := Open(store, Options{Table: "tenants/b/profiles"}); !errors.Is(err, ErrTenant) {
		t.Errorf("another tenant's table: %v, want ErrTenant", err)
	}
	for _, name := range []string{"b", "", "a"} {
		db, err := Open(store, Options{Tenant: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.CreateHistory(TenantName(name, "threads"), columnstore.HistoryOptions{}); err != nil {
			t.Fatal(err)
		}
		if want := store.Table(TenantName(name, "profiles")); db.Table() != want || want == nil {
			t.Errorf("tenant %q has table %q", name, db.Table().Name())
		}
		if TenantHistory(store, name, "threads") != store.History(TenantName(name, "threads")) {
			t.Errorf("tenant %q does not find its history", name)
		}
		if got := TenantHistories(store, name); !slices.Equal(got, []string{"threads"}) {
			t.Errorf("tenant %q has histories %q", name, got)
		}
		for _, other := range []string{"tenants/a/threads", "tenants/b/threads", "../b/threads", ""} {
			if TenantHistory(store, name, other) != nil {
				t.Errorf("tenant %q reaches a history %q", name, other)
			}
		}
	}
	if got := Tenants(store, ""); !slices.Equal(got, []string{"a", Anonymous, "b"}) {
		t.Errorf("tenants %q", got)
	}
}
