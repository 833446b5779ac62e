package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// Folders named NAME=VALUE are labels, and --label adds others to all inputs. The flag replaces
// the label of a folder. The name of the input stays the label file.
func TestInputLabels(t *testing.T) {
	dir := t.TempDir()
	file(t, filepath.Join(dir, "job=api", "pod=x", "cpu.pb.gz"), service())
	file(t, filepath.Join(dir, "job=api", "pod=y", "cpu.pb.gz"), service())
	file(t, filepath.Join(dir, "job=db", "file=z", "=bad", "bad=", "cpu.pb.gz"), service())
	for _, tc := range []struct {
		args []string
		want int64
	}{
		{[]string{"--selector", `{job="api"}`, dir}, 2e9},
		{[]string{"--selector", `{job="api",pod="y",thread="main"}`, dir}, 1e7},
		{[]string{"--selector", `{job="api"}`, filepath.Join(dir, "job=api", "pod=x", "cpu.pb.gz")}, 1e9},
		{[]string{"--selector", `{job="db",file=~".*cpu[.]pb[.]gz"}`, dir}, 1e9},
		{[]string{"--label", "zone=a=b", "--selector", `{zone="a=b"}`, dir}, 3e9},
		{[]string{"--label", "job=all", "--label", "zone=a", "--selector", `{job="all",zone="a"}`, dir}, 3e9},
	} {
		if got := granaryTop(t, tc.args...); got.Total != tc.want {
			t.Errorf("%q: total %d, want %d", tc.args, got.Total, tc.want)
		}
	}
	if r := granary(t, "labels", dir); r.code != cli.ExitOK || strings.Contains(r.stdout, "bad") {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "inspect", "--label", "zone=a", dir); r.code != cli.ExitOK {
		t.Errorf("inspect: %d, %s", r.code, r.stderr)
	}
}

// The name - is a profile on standard input, alone or beside other inputs.
func TestStdin(t *testing.T) {
	a := file(t, "a.pb.gz", service())
	old := os.Stdin
	t.Cleanup(func() { os.Stdin = old })
	for _, args := range [][]string{{"top", "--json", "-"}, {"diff", "--json", a, "-"}, {"labels", "-", a}} {
		f, err := os.Open(a)
		if err != nil {
			t.Fatal(err)
		}
		os.Stdin = f
		if r := granary(t, args...); r.code != cli.ExitOK || r.stdout == "" {
			t.Errorf("%q: %+v", args, r)
		}
		f.Close()
	}
}

// A host with a port is its CPU profile, as for go tool pprof. --seconds and --header reach the
// server, and the URL is printed.
func TestHostPort(t *testing.T) {
	var body bytes.Buffer
	if err := service().Write(&body); err != nil {
		t.Fatal(err)
	}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String()+" "+r.Header.Get("Authorization"))
		w.Write(body.Bytes())
	}))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for _, tc := range []struct {
		args        []string
		asked, note string
	}{
		{[]string{host}, "/debug/pprof/profile ", "/debug/pprof/profile"},
		{[]string{"--seconds", "5", host}, "/debug/pprof/profile?seconds=5 ", "/debug/pprof/profile?seconds=5"},
		{[]string{"--seconds", "5", server.URL + "/"}, "/debug/pprof/profile?seconds=5 ", "/debug/pprof/profile?seconds=5"},
		{[]string{host + "/debug/pprof/heap"}, "/debug/pprof/heap ", "/debug/pprof/heap"},
		{[]string{"--header", "Authorization: Bearer x", server.URL + "/debug/pprof/heap"}, "/debug/pprof/heap Bearer x", ""},
	} {
		asked = nil
		note := ""
		if tc.note != "" {
			note = "granary: fetching " + server.URL + tc.note + "\n"
		}
		r := granary(t, append([]string{"top"}, tc.args...)...)
		if r.code != cli.ExitOK || len(asked) != 1 || asked[0] != tc.asked || r.stderr != note {
			t.Errorf("%q: exit code %d, asked %q: %s", tc.args, r.code, asked, r.stderr)
		}
	}
	// A file of that name wins.
	dir := t.TempDir()
	file(t, filepath.Join(dir, "cpu:10"), service())
	if r := inDir(t, dir, "top", "cpu:10"); r.code != cli.ExitOK {
		t.Errorf("%+v", r)
	}
}

// A server with a certificate of its own is trusted by --tls-ca or --tls-skip-verify alone.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := service().Write(w); err != nil {
			t.Error(err)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(server.Close)
	ca := write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	bad := write(t, "bad.pem", []byte("none"))
	for _, tc := range []struct {
		flags []string
		want  string // in the error, "" for none
	}{
		{nil, "certificate"},
		{[]string{"--tls-ca", ca}, ""},
		{[]string{"--tls-skip-verify"}, ""},
		{[]string{"--tls-ca", bad}, "there is no certificate in PEM form"},
		{[]string{"--tls-ca", bad + "x"}, "no such file"},
		{[]string{"--tls-cert", ca, "--tls-key", bad}, "--tls-key " + bad},
	} {
		r := granary(t, append(append([]string{"top"}, tc.flags...), server.URL+"/heap")...)
		if want := map[bool]int{true: cli.ExitOK, false: cli.ExitFailed}[tc.want == ""]; r.code != want || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%q: exit code %d, %s", tc.flags, r.code, r.stderr)
		}
	}
}

// TestInsecureScheme: https+insecure is https without a verified server, as with go tool pprof, also
// beside flags of TLS. A server to which such a URL redirects is verified.
func TestInsecureScheme(t *testing.T) {
	serve := func(handle http.HandlerFunc) *httptest.Server {
		server := httptest.NewUnstartedServer(handle)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		t.Cleanup(server.Close)
		return server
	}
	var last string
	server := serve(func(w http.ResponseWriter, r *http.Request) {
		last = r.URL.String()
		if err := service().Write(w); err != nil {
			t.Error(err)
		}
	})
	redirect := serve(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, server.URL+"/heap", http.StatusFound)
	})
	ca := write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	insecure := func(s *httptest.Server) string { return "https+insecure" + strings.TrimPrefix(s.URL, "https") }
	for _, tc := range []struct {
		args []string
		want string // the last request of the first server, or the error
		code int
	}{
		{[]string{insecure(server) + "/heap?x=1"}, "/heap?x=1", cli.ExitOK},
		{[]string{insecure(server)}, "/debug/pprof/profile", cli.ExitOK},
		{[]string{insecure(server), "--seconds", "3", "--header", "A: b"}, "/debug/pprof/profile?seconds=3", cli.ExitOK},
		{[]string{insecure(server) + "/heap", "--tls-ca", ca}, "/heap", cli.ExitOK},
		{[]string{insecure(redirect) + "/there"}, "certificate", cli.ExitFailed},
		{[]string{server.URL + "/heap"}, "certificate", cli.ExitFailed},
	} {
		last = ""
		r := granary(t, append([]string{"top"}, tc.args...)...)
		if r.code != tc.code || last != tc.want && (tc.code == cli.ExitOK || !strings.Contains(r.stderr, tc.want)) {
			t.Errorf("%q: %+v, the last request is %q", tc.args, r, last)
		}
	}
}

// A server that asks for a certificate gets that of --tls-cert.
func TestClientCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := service().Write(w); err != nil {
			t.Error(err)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(server.Close)
	private, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert := write(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	key := write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	if r := granary(t, "top", "--tls-ca", cert, server.URL+"/heap"); r.code != cli.ExitFailed {
		t.Errorf("without a certificate: %+v", r)
	}
	if r := granary(t, "top", "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key, server.URL+"/heap"); r.code != cli.ExitOK {
		t.Errorf("with a certificate: %+v", r)
	}
}
