package web

import "context"

// TenantHeader names the tenant of a request.
const TenantHeader = "X-Scope-OrgID"

// Caller is the sender of a request.
type Caller struct {
	Tenant      string // empty outside of a request of package server
	Read, Write bool   // what the request may do
	Bound       bool   // its token is for this tenant alone
	InPath      bool   // the path names the tenant
	Inside      string // path of opened files, which the request is about, or ""
}

// callerKey is the key of a request's context with its caller.
type callerKey struct{}

// WithCaller returns the context of a request of a caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of a request's context.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
