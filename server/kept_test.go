package server

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/granarydb/granary/columnstore"
)

// TestKept calls Options.Kept for each request that changes a file beside the store, before the answer, which is its error.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var kept []string
	var failure error
	r := newReceiver(t, Options{
		Annotations: in("annotations.jsonl"), Archives: in("archives"), Rules: RuleOptions{Keep: in("rules.json")}, Symbols: SymbolOptions{Keep: in("symbols")},
		Kept: func(_ context.Context, path string) error {
			kept = append(kept, path)
			return failure
		},
	}, columnstore.Options{})
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	if w, err := z.Create("main.go"); err != nil {
		t.Fatal(err)
	} else if _, err := w.Write([]byte("package main\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const breakpad = "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 shop\nPUBLIC 10 0 main\n"
	for _, of := range []struct {
		method, path, body, kept string
		status                   int
	}{
		{http.MethodPost, "/annotations", `{"text":"deployed"}`, "annotations.jsonl", http.StatusOK},
		{http.MethodDelete, "/annotations?id=1", "", "annotations.jsonl", http.StatusNotFound},
		{http.MethodPost, "/rules", `{"rules":[{"name":"cpu_total","type":"cpu"}]}`, "rules.json", http.StatusOK},
		{http.MethodPost, "/archives?version=1.0", archive.String(), "archives/tenants/anonymous", http.StatusOK},
		{http.MethodPost, "/symbols", breakpad, "symbols/tenants/anonymous", http.StatusOK},
		{http.MethodDelete, "/archives?version=1.0", "", "archives/tenants/anonymous", http.StatusNoContent},
	} {
		for _, failure = range []error{errors.New("the object store is away"), nil} {
			kept = nil
			status, text := r.send(r.request(of.method, of.path, []byte(of.body)))
			want := of.status
			switch {
			case failure != nil:
				want = http.StatusServiceUnavailable
			case of.status == http.StatusNoContent: // the request before has removed it
				want = http.StatusNotFound
			}
			if status != want || len(kept) != 1 || kept[0] != in(filepath.FromSlash(of.kept)) {
				t.Errorf("%s %s: status %d, want %d, and %q is kept: %s", of.method, of.path, status, want, kept, text)
			}
		}
	}
	if _, err := os.Stat(in("annotations.jsonl")); err != nil {
		t.Error(err)
	}
}
