package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server"
)

// TestBackup_Server copies the directory of a server while it takes pushes. The copy has each push that was acknowledged
// before, whole, and is a prefix of the others.
func TestBackup_Server(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	store, err := columnstore.Open(columnstore.Options{Dir: dir, LogBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := server.New(store, server.Options{Backups: filepath.Join(dir, "backup")})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	defer func() { _ = s.Wait(context.Background()) }()
	defer web.Close()
	var profile bytes.Buffer
	if err := service().Write(&profile); err != nil {
		t.Fatal(err)
	}
	push := func(n int) {
		resp, err := http.Post(fmt.Sprintf("%s/pprof?service_name=api&n=n%d", web.URL, n), "", bytes.NewReader(profile.Bytes()))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("push %d: %v %v", n, resp, err)
			return
		}
		_ = resp.Body.Close()
	}
	const before, after = 100, 300
	for n := range before {
		push(n)
	}
	var pushing sync.WaitGroup
	pushing.Go(func() {
		for n := before; n < after; n++ {
			push(n)
		}
	})
	for i := range 3 {
		target := filepath.Join(t.TempDir(), "copies", fmt.Sprint(i))
		r := granary(t, "backup", "--from", web.URL, target)
		if r.code != cli.ExitOK || !strings.HasPrefix(r.stdout, "Copied ") {
			t.Fatalf("%+v", r)
		}
		labels := granary(t, "labels", "--db", target, "--name", "n").stdout
		last := -1
		for n := range after {
			if strings.Contains(labels+"\n", fmt.Sprintf("n%d\n", n)) {
				if n != last+1 {
					t.Errorf("copy %d has push %d after %d", i, n, last)
				}
				last = n
			}
		}
		if last < before-1 {
			t.Errorf("copy %d ends with push %d", i, last)
		}
		if r := granary(t, "verify", "--db", target); r.code != cli.ExitOK {
			t.Errorf("%+v", r)
		}
	}
	pushing.Wait()
	if _, err := os.Stat(filepath.Join(dir, "backup")); !os.IsNotExist(err) {
		t.Errorf("the copy on the server is left: %v", err)
	}
	store.Close()
	if r := granary(t, "verify", "--db", dir); r.code != cli.ExitOK {
		t.Errorf("%+v", r)
	}
}

// newServer returns a server of a new store, which the test's end closes.
func newServer(t *testing.T, of columnstore.Options, opts server.Options) *server.Server {
	t.Helper()
	store, err := columnstore.Open(of)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err := server.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBackup_Refused names a server that has no directory, wants a token, sends something else or half of it. The target is as before.
func TestBackup_Refused(t *testing.T) {
	s := newServer(t, columnstore.Options{}, server.Options{Tokens: server.Tokens{Read: []string{"secret"}}})
	inMemory := httptest.NewServer(s)
	defer inMemory.Close()
	answers := func(text string) string {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
		t.Cleanup(web.Close)
		return web.URL
	}
	token := write(t, "token", []byte("secret\n"))
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--from", inMemory.URL}, "401 Unauthorized"},
		{[]string{"--from", inMemory.URL, "--token-file", token}, "this server has no directory to copy"},
		{[]string{"--from", answers("<html>")}, "the answer is no backup"},
		{[]string{"--from", answers("")}, "the answer is no backup"},
		{[]string{"--from", "ftp://x"}, "want the address of a server"},
		{[]string{"--from", inMemory.URL, "--db", full}, "leave one of them out"},
	} {
		target := filepath.Join(t.TempDir(), "copy")
		r := granary(t, append(append([]string{"backup"}, c.args...), target)...)
		left, _ := filepath.Glob(target + "*")
		if r.code == cli.ExitOK || !strings.Contains(r.stderr, c.says) || len(left) > 0 {
			t.Errorf("%q: %+v, left %q, want %q", c.args, r, left, c.says)
		}
	}
	if r := granary(t, "backup", "--from", inMemory.URL, full); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "there are files in it already") {
		t.Errorf("%+v", r)
	}
}
