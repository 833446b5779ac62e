package web

import (
	"context"
	"net/http"
)

// headerKey is the key of a request's context with its Headers.
type headerKey struct{}

// Headers are those of a request and of its answer. Reading those of a context without them finds none.
type Headers struct{ Request, Answer http.Header }

// Headed is a handler of questions whose context has the headers.
func Headed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), headerKey{}, Headers{r.Header, w.Header()})))
	})
}

// HeadersOf returns the headers of a context, and whether it has them.
func HeadersOf(ctx context.Context) (Headers, bool) {
	h, ok := ctx.Value(headerKey{}).(Headers)
	return h, ok
}
