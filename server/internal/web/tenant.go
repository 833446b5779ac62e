package web

import "context"

// TenantHeader names the tenant of a request.
const TenantHeader = "X-Scope-OrgID"

// tenantKey is the key of a request's context with its tenant.
type tenantKey struct{}

// WithTenant returns the context of a request of a tenant.
func WithTenant(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, tenantKey{}, name)
}

// TenantOf returns the tenant of a request's context. It is empty outside of a request of package server.
func TenantOf(ctx context.Context) string {
	name, _ := ctx.Value(tenantKey{}).(string)
	return name
}
