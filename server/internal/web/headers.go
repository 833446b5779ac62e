package web

import (
	"context"
	"net/http"
)

// headerKey is the key of a request's context with its Headers.
type headerKey struct{}

// Headers are the headers of a request and its answer. Without headers in a context, lookups find none.
type Headers struct{ Request, Answer http.Header }

// Headed returns a handler that puts the headers into the request's context.
func Headed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), headerKey{}, Headers{r.Header, w.Header()})))
	})
}

// HeadersOf returns the headers in a context, and whether there are any.
func HeadersOf(ctx context.Context) (Headers, bool) {
	h, ok := ctx.Value(headerKey{}).(Headers)
	return h, ok
}
