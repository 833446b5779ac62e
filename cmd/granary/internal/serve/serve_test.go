//go:build unix

package serve

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// running is a serve command in progress.
type running struct {
	t    *testing.T
	stop context.CancelFunc
	code chan int
	log  chan string
	url  string
}

// start runs serve with flags on a free port of loopback, and waits until it listens.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	run := &running{t: t, stop: stop, code: make(chan int, 1), log: make(chan string, 1000)}
	go func() {
		code := cli.Run(ctx, NewServe(nil), append([]string{"--listen", "127.0.0.1:0"}, args...), io.Discard, w)
		_ = w.Close()
		run.code <- code
	}()
	go func() {
		defer close(run.log)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			run.log <- lines.Text()
		}
	}()
	t.Cleanup(func() { stop() })
	run.url = run.find(`url=(\S+)`)
	return run
}

// find returns the first group of a pattern in the lines that are logged next.
func (r *running) find(pattern string) string {
	r.t.Helper()
	var seen []string
	for {
		select {
		case line, ok := <-r.log:
			if m := regexp.MustCompile(pattern).FindStringSubmatch(line); m != nil {
				return m[len(m)-1]
			}
			if seen = append(seen, line); ok {
				continue
			}
		case <-time.After(effort.Patience):
		}
		r.t.Fatalf("the log has no %s:\n%s", pattern, strings.Join(seen, "\n"))
	}
}

// end interrupts the command and returns its exit code.
func (r *running) end() int {
	r.stop()
	select {
	case code := <-r.code:
		return code
	case <-time.After(effort.Patience):
		r.t.Fatal("serve does not end")
		return 0
	}
}

// get asks the server, with a token if it is not empty.
func get(t *testing.T, client *http.Client, url, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestServe starts a server on a directory twice: it answers, ends with 0, and opens again.
func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profiles.db")
	for range 2 {
		run := start(t, "--db", dir)
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			if code, body := get(t, new(http.Client), run.url+path, ""); code != http.StatusOK {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		if code := run.end(); code != cli.ExitOK {
			t.Errorf("exit code %d", code)
		}
		run.find("msg=(closed)")
	}
}

// TestServe_InMemory warns that a restart loses the profiles.
func TestServe_InMemory(t *testing.T) {
	run := start(t, "--in-memory")
	run.find("(a restart loses all profiles)")
	if code := run.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestServe_Listen serves loopback unless a flag says otherwise, which the log then tells.
func TestServe_Listen(t *testing.T) {
	if at := NewServe(nil).Flags().Lookup("listen").DefValue; at != "127.0.0.1:4040" {
		t.Errorf("the default is %s", at)
	}
	run := start(t, "--in-memory")
	if code := run.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	for line := range run.log {
		if strings.Contains(line, "other machines") {
			t.Errorf("on loopback: %s", line)
		}
	}
	run = start(t, "--in-memory", "--listen", "0.0.0.0:0")
	run.find(`(other machines can reach this address)`)
	run.find("(any client that reaches this address can read or push)")
	run.find("(sent in the clear)")
	if code := run.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestServe_Reload serves TLS and tokens, and reads both again at SIGHUP: a file that cannot be read
// leaves them as they were.
func TestServe_Reload(t *testing.T) {
	dir := t.TempDir()
	tokens, cert, key := filepath.Join(dir, "read.txt"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, tokens, "# old\nfirst\n")
	pool := writeCert(t, cert, key)
	run := start(t, "--in-memory", "--read-tokens", tokens, "--tls-cert", cert, "--tls-key", key)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	expect := func(token string, want int) {
		t.Helper()
		if code, _ := get(t, client, run.url+"/metrics", token); code != want {
			t.Errorf("token %q: status %d, want %d", token, code, want)
		}
	}
	expect("", http.StatusUnauthorized)
	expect("first", http.StatusOK)
	expect("second", http.StatusUnauthorized)

	write(t, tokens, "second\n")
	writeCert(t, cert, key)
	hangUp(t)
	run.find("msg=(reloaded)")
	pool.AppendCertsFromPEM(read(t, cert))
	expect("second", http.StatusOK)
	expect("first", http.StatusUnauthorized)

	write(t, tokens, "# nothing\n")
	hangUp(t)
	run.find("(the file has no token)")
	expect("second", http.StatusOK)
	if code := run.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestServe_Budgets reads budgets again at SIGHUP: those of the flags hold for what the file does not name, and a file that the store
// refuses changes nothing.
func TestServe_Budgets(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "budgets.txt")
	write(t, file, "disk=2GiB\n")
	run := start(t, "--db", filepath.Join(dir, "db"), "--disk", "1GiB", "--memory", "64MiB", "--retention", "30d", "--budgets", file)
	expect := func(disk, memory string) {
		t.Helper()
		_, body := get(t, http.DefaultClient, run.url+"/api/v1/store", "")
		for _, want := range []string{`"budget":` + disk, `"budget":` + memory} {
			if !strings.Contains(body, want) {
				t.Errorf("%s, want %s", body, want)
			}
		}
	}
	expect("2147483648", "67108864")
	write(t, file, "# smaller\nmemory=32MiB retention=7d\ndisk=512MiB\n")
	hangUp(t)
	run.find("msg=(reloaded)")
	expect("536870912", "33554432")
	write(t, file, "memory=1KiB\n")
	hangUp(t)
	run.find("(Memory is 1024)")
	expect("536870912", "33554432")
	if code := run.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestServe_Flags refuses flags that make no server.
func TestServe_Flags(t *testing.T) {
	full := t.TempDir()
	write(t, filepath.Join(full, "notes.txt"), "not ours")
	for _, test := range []struct{ args, want string }{
		{"--listen 4040", "--listen 4040: want host:port"},
		{"--in-memory --db x", "--db and --in-memory"},
		{"--in-memory --disk 1GiB", "--disk bounds files"},
		{"--in-memory --retention -1h", `--retention "-1h": want a duration, such as 10s, 5m, 12h or 30d, or 0`},
		{"--in-memory --drain 10", `--drain "10": want a duration`},
		{"--in-memory --retention 30d --max-query-time 1d12h --listen 4040", "--listen 4040"}, // these are right
		{"--in-memory --max-labels -1", "labels: -1"},
		{"--in-memory --memory many", "--memory"},
		{"--in-memory --sync always", "--sync"},
		{"--in-memory --read-tokens /does/not/exist", "--read-tokens"},
		{"--in-memory --tls-cert cert.pem", "want both or none"},
		{"--db " + full, "it has other files"},
		{"--in-memory profiles", "serve takes no arguments"},
		{"--query-from granary-0:4040", "want an address such as"},
		{"--query-from http://a,http://a", "it is there twice"},
		{"--query-from http://a --db x", "--db and --query-from"},
		{"--query-from http://a --in-memory", "--in-memory and --query-from"},
		{"--query-from http://a --memory 1GiB", "--memory and --query-from"},
		{"--query-from http://a --write-tokens x", "--write-tokens and --query-from"},
		{"--query-from http://a --query-token-file /does/not/exist", "--query-token-file"},
		{"--in-memory --partial-answers", "names no server"},
		{"--in-memory --query-token-file x", "names no server"},
		{"--in-memory --self-states", "without --self"},
		{"--in-memory --symbols /does/not/exist", "--symbols"},
		{"--in-memory --debuginfod http://a", "--debuginfod and --in-memory"},
		{"--db new.db --debuginfod ftp://a", "--debuginfod ftp://a"},
		{"--query-from http://a --symbols x", "--symbols and --query-from"},
		{"--in-memory --budgets /does/not/exist", "--budgets"},
	} {
		var out strings.Builder
		if code := cli.Run(t.Context(), NewServe(nil), strings.Fields(test.args), io.Discard, &out); code != cli.ExitUsage {
			t.Errorf("%s: exit code %d", test.args, code)
		}
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: %s, want %s", test.args, out.String(), test.want)
		}
	}
}

func hangUp(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// writeCert writes a new certificate for loopback and its key, and returns a pool with it.
func writeCert(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(read(t, cert))
	return pool
}
