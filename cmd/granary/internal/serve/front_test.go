//go:build unix

package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// TestServe_QueryFrom pushes to two servers and asks a third, which asks them: with both, and without one.
func TestServe_QueryFrom(t *testing.T) {
	dir := t.TempDir()
	read, node := filepath.Join(dir, "read"), filepath.Join(dir, "node")
	write(t, read, "secret\n")
	write(t, node, "secret\n")
	var nodes []*running
	var urls []string
	for i, value := range []int64{7, 35} {
		n := start(t, "--in-memory", "--read-tokens", read)
		name := filepath.Join(dir, fmt.Sprint(i), "mutex.pb.gz")
		writeProfile(t, name, value)
		if code, out := pushed(t, map[string]string{"job": "api"}, "--to", n.url, name); code != cli.ExitOK {
			t.Fatalf("push: exit code %d, %s", code, out)
		}
		nodes, urls = append(nodes, n), append(urls, n.url)
	}
	from := strings.Join(urls, ",")
	front := start(t, "--query-from", from, "--query-token-file", node)
	partial := start(t, "--query-from", urls[0], "--query-from", urls[1], "--query-token-file", node, "--partial-answers")
	expect := func(of *running, path string, status int, total int64, comment string) {
		t.Helper()
		code, body := get(t, new(http.Client), of.url+path, "")
		if code != status || status != http.StatusOK && !strings.Contains(body, comment) {
			t.Errorf("%s: %d %s, want %d and %s", path, code, body, status, comment)
		}
		if code != http.StatusOK || total == 0 {
			return
		}
		p, err := pprof.ParseData([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, s := range p.Sample {
			sum += s.Value[0]
		}
		if sum != total || slices.ContainsFunc(p.Comments, func(c string) bool { return strings.Contains(c, urls[1]) }) != (comment != "") {
			t.Errorf("%s: a profile of %d with the comments %q, want %d and %s", path, sum, p.Comments, total, comment)
		}
	}
	const ask = "/pprof?type=delay&selector=mutex"
	for _, of := range []*running{front, partial} {
		expect(of, ask, http.StatusOK, 42, "")
		expect(of, "/healthz", http.StatusOK, 0, "")
		expect(of, "/readyz", http.StatusOK, 0, "")
		expect(of, "/arrow", http.StatusNotImplemented, 0, urls[0])
	}
	if code := nodes[1].end(); code != cli.ExitOK {
		t.Errorf("a node: exit code %d", code)
	}
	expect(front, ask, http.StatusBadGateway, 0, urls[1])
	expect(partial, ask, http.StatusOK, 7, urls[1])
	if code, body := get(t, new(http.Client), partial.url+"/metrics", ""); code != http.StatusOK || !strings.Contains(body, `granary_node_missing_total{node="`+urls[1]+`"} 1`) {
		t.Errorf("metrics: %d %s", code, body)
	}
	if _, err := os.Stat("granary.db"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a front has a directory: %v", err)
	}
	write(t, node, "wrong\n")
	hangUp(t)
	for _, of := range []*running{front, partial} {
		of.find("msg=(reloaded)")
	}
	expect(partial, ask, http.StatusBadGateway, 0, "") // with the token it was an answer
	for _, of := range []*running{front, partial, nodes[0]} {
		if code := of.end(); code != cli.ExitOK {
			t.Errorf("exit code %d", code)
		}
	}
}
