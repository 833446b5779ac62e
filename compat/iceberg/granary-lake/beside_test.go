package main

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// With --ack lake what requests made beside the rows is there again on an empty disk: annotations, rules, archives, symbols, and the list of
// deletions. What was removed is not.
func TestServe_Beside(t *testing.T) {
	dir := t.TempDir()
	catalog := catalogIn(dir)
	command(t, 0, append([]string{"init"}, catalog...)...)
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "db")
	args := append([]string{"--node", "n", "--db", db, "--ack", "lake", "--ack-every", "0s", "--write-tokens", tokens, "--allow-delete"}, catalog...)
	cmd, url := startNode(t, args...)
	ask := func(method, path string, body io.Reader, want int) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer sesame")
		code, text := answer(t, req)
		if code != want {
			t.Errorf("%s %s: %d %s", method, path, code, text)
		}
		return text
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	ask(http.MethodPost, "/annotations", strings.NewReader(`{"text":"first"}`), http.StatusOK)
	ask(http.MethodPost, "/annotations", strings.NewReader(`{"text":"deployed"}`), http.StatusOK)
	ask(http.MethodPost, "/rules", strings.NewReader(`{"rules":[{"name":"cpu_total","type":"cpu"}]}`), http.StatusOK)
	for _, version := range []string{"1.0", "1.1"} {
		ask(http.MethodPost, "/archives?version="+version, archiveOf(t), http.StatusOK)
	}
	ask(http.MethodDelete, "/archives?version=1.0", nil, http.StatusNoContent)
	ask(http.MethodPost, "/symbols", binary, http.StatusOK)
	ask(http.MethodPost, "/pprof?job=deleted", bytes.NewReader(profileOf(t, "f", time.Now())), http.StatusOK)
	ask(http.MethodPost, "/delete?selector=%7Bjob%3D%22deleted%22%7D", nil, http.StatusOK)
	have := besideOf(t, db)
	if names := slices.Sorted(maps.Keys(have)); len(names) != 5 {
		t.Errorf("files: %q", names)
	}
	rules := ask(http.MethodGet, "/rules", nil, http.StatusOK)
	kill(cmd)
	if err := os.RemoveAll(db); err != nil {
		t.Fatal(err)
	}
	_, url = startNode(t, args...)
	if again := besideOf(t, db); !maps.Equal(again, have) {
		t.Errorf("files: %q, want %q", slices.Sorted(maps.Keys(again)), slices.Sorted(maps.Keys(have)))
	}
	if text := ask(http.MethodGet, "/rules", nil, http.StatusOK); !strings.Contains(text, "cpu_total") {
		t.Errorf("rules: %s, want %s", text, rules)
	}
	if text := ask(http.MethodGet, "/archives", nil, http.StatusOK); !strings.Contains(text, `"1.1"`) || strings.Contains(text, `"1.0"`) {
		t.Errorf("archives: %s", text)
	}
}

// archiveOf returns a zip with a file.
func archiveOf(t *testing.T) io.Reader {
	t.Helper()
	var body bytes.Buffer
	z := zip.NewWriter(&body)
	f, err := z.Create("main.go")
	if err == nil {
		_, err = f.Write([]byte("package main\n"))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &body
}

// besideOf returns the files of a directory that are beside those of the store, by name.
func besideOf(t *testing.T, db string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(db, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(db, path)
		isKept := slices.ContainsFunc([]string{"annotations", "rules", "deletions", "archives", "symbols"}, func(kind string) bool { return strings.HasPrefix(name, kind) })
		if err != nil || d.IsDir() || !isKept {
			return err
		}
		body, err := os.ReadFile(path)
		files[name] = string(body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
