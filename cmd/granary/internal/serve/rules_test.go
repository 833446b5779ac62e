package serve

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// TestRules_Check tells good files of rules from bad ones.
func TestRules_Check(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yml"), filepath.Join(dir, "bad.yml")
	write(t, good, "rules: [{name: a_total, type: cpu}, {name: heap, type: inuse_space}]\n")
	write(t, bad, "rules:\n- name: a_total\n  type: cpu\n  selecter: x\n")
	for _, tc := range []struct {
		args      []string
		code      int
		out, errs string
	}{
		{[]string{good}, cli.ExitOK, good + ": 2 rules\n", ""},
		{[]string{bad, good}, cli.ExitFailed, good + ": 2 rules\n", "granary: " + bad + ": invalid rules: unmarshal errors: line 4: field selecter not found"},
		{[]string{filepath.Join(dir, "none")}, cli.ExitFailed, "", "no such file"},
		{nil, cli.ExitUsage, "", "at least one FILE"},
	} {
		var out, errs strings.Builder
		code := cli.Run(t.Context(), NewRules(), append([]string{"check"}, tc.args...), &out, &errs)
		if code != tc.code || out.String() != tc.out || !strings.Contains(errs.String(), tc.errs) || tc.errs == "" && errs.Len() > 0 {
			t.Errorf("%q: exit code %d, %q, %q", tc.args, code, out.String(), errs.String())
		}
	}
}

// TestServe_Rules reads rules again at SIGHUP. A file with a mistake leaves the rules unchanged.
func TestServe_Rules(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "rules.yml")
	write(t, name, "rules: [{name: a_total, type: cpu}]")
	run := start(t, "--db", filepath.Join(dir, "db"), "--rules", name)
	want := func(texts ...string) {
		t.Helper()
		code, body := get(t, http.DefaultClient, run.url+"/rules", "")
		for _, text := range texts {
			if code != http.StatusOK || !strings.Contains(body, text) {
				t.Errorf("status %d: %s, want %s", code, body, text)
			}
		}
	}
	want(`"a_total"`, `"interval":"1m0s"`)
	write(t, name, "interval: 30s\nrules: [{name: b_total, type: cpu, by: [pod]}]")
	hangUp(t)
	run.find("msg=(reloaded)")
	want(`"b_total"`, `"interval":"30s"`)
	write(t, name, "rules: [{name: b, type: cpu}]")
	hangUp(t)
	run.find("ends in (_total)")
	want(`"b_total"`, `"interval":"30s"`)
	if code := run.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	for args, text := range map[string]string{
		"--in-memory --rules " + name:                          "ends in _total",
		"--in-memory --rules " + filepath.Join(dir, "none"):    "no such file",
		"--in-memory --remote-write localhost:9090":            "http or https",
		"--in-memory --remote-write-token-file x":              "names no receiver",
		"--query-from http://localhost:1 --rules " + name:      "stores nothing",
		"--query-from http://localhost:1 --max-rule-series 10": "stores nothing",
	} {
		var errs strings.Builder
		if code := cli.Run(t.Context(), NewServe(nil), strings.Fields(args), &strings.Builder{}, &errs); code != cli.ExitUsage || !strings.Contains(errs.String(), text) {
			t.Errorf("%s: exit code %d: %s", args, code, errs.String())
		}
	}
}
