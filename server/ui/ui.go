package ui

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"
)

//go:embed dist
var dist embed.FS

// policy is the Content-Security-Policy of the page: its own files and its own server, no inline code, and no way from
// a string to HTML.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Handlers returns the handlers of the page by path, such as "/" and "/app-1A2B3C4D.js". They answer GET and HEAD, hold
// no state, and are safe for concurrent use.
func Handlers() map[string]http.Handler {
	entries, err := dist.ReadDir("dist")
	if err != nil {
		panic(err) // dist is embedded
	}
	out := make(map[string]http.Handler, len(entries))
	for _, entry := range entries {
		data, err := dist.ReadFile("dist/" + entry.Name())
		if err != nil {
			panic(err)
		}
		at := "/" + entry.Name()
		if at == "/index.html" {
			at = "/"
		}
		out[at] = file(entry.Name(), data)
	}
	return out
}

// kinds are the types of the files: those of package mime depend on the system.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// file returns the handler of one file.
func file(name string, data []byte) http.Handler {
	kept := "public, max-age=31536000, immutable"
	if name == "index.html" {
		kept = "no-cache"
	}
	kind := kinds[path.Ext(name)]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the page is read with GET", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Cache-Control", kept)
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	})
}
