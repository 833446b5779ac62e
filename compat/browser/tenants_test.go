package browser

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/granarydb/granary/server"
)

// TestTenants: the page of a tenant says whose it is, and shows that tenant's profiles alone. Its path goes on without a slash.
func TestTenants(t *testing.T) {
	s := newServerOf(t, server.Options{})
	for _, tenant := range []string{"etcd", "pebble"} {
		p := read(t, tenant, "cpu-1")
		p.TimeNanos = last.UnixNano()
		push(t, inTenant(s, tenant), p, url.Values{"service_name": {tenant}})
	}
	b := open(t, s, "/tenants/etcd/?utc=1&from=latest-5m&by=service_name")
	b.says("granary · etcd")
	b.ready()
	b.says("raft")
	if eval[bool](b, `document.body.innerText.includes("pebble")`) {
		t.Error("the page shows another tenant's profiles")
	}
	b.shot("tenant")
	b.goTo("/tenants/pebble")
	b.says("granary · pebble")
	b.goTo("/")
	b.says("No profile has been pushed yet")
}

// inTenant returns a handler of requests to a server in the name of a tenant.
func inTenant(s http.Handler, tenant string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Scope-OrgID", tenant)
		s.ServeHTTP(w, r)
	})
}
