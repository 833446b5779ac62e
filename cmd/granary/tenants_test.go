package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// TestTenants stores profiles and histories of two tenants and of none in one directory. Each command sees those of one.
func TestTenants(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	for _, tenant := range []string{"a", "b", ""} {
		p := service()
		p.Function[0].Name = "main.of" + tenant + "zebra"
		profile := file(t, "cpu.pb.gz", p)
		states := write(t, "run.csv", []byte("attribute,start,end,value\nzebra"+tenant+",0,9,up\n"))
		of := []string{"--db", dir}
		if tenant != "" {
			of = append(of, "--tenant", tenant)
		}
		for _, args := range [][]string{
			append([]string{"load", "--label", "team=zebra" + tenant, profile}, of...),
			append([]string{"history", "load", states}, of...),
		} {
			if r := granary(t, args...); r.code != cli.ExitOK {
				t.Fatalf("%q: %+v", args, r)
			}
		}
	}
	for _, tenant := range []string{"a", "b", "anonymous"} {
		own := strings.TrimSuffix(tenant, "anonymous")
		for _, args := range [][]string{
			{"top"},
			{"merge", "-o", "-"},
			{"labels"},
			{"labels", "--name", "team"},
			{"series", "--by", "team"},
			{"flamegraph", "-o", "-"},
			{"inspect"},
			{"peek", "zebra"},
			{"export", "-o", "-", "--format", "arrow"},
			{"diff", "--db", dir},
			{"history", "info", "run"},
			{"history", "slice", "run", "5"},
		} {
			r := granary(t, append(args, "--db", dir, "--tenant", tenant)...)
			if r.code != cli.ExitOK {
				t.Errorf("%s, tenant %s: %+v", args, tenant, r)
			}
			for _, other := range []string{"ofazebra", "ofbzebra", "ofzebra", "zebraa", "zebrab"} {
				if strings.Contains(r.stdout, other) && other != "of"+own+"zebra" && other != "zebra"+own {
					t.Errorf("%s, tenant %s: the answer has %s: %s", args, tenant, other, r.stdout)
				}
			}
		}
		r := granary(t, "top", "--db", dir, "--tenant", tenant)
		if !strings.Contains(r.stdout, "main.of"+own+"zebra") {
			t.Errorf("tenant %s: %+v", tenant, r)
		}
	}
	if r := granary(t, "delete", "--db", dir, "--tenant", "a", "--before", "2100-01-01"); r.code != cli.ExitOK || !strings.HasSuffix(r.stdout, ", 0 left\n") {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "top", "--db", dir, "--tenant", "b"); !strings.Contains(r.stdout, "main.ofbzebra") {
		t.Errorf("after another tenant's profiles were deleted: %+v", r)
	}
	if r := granary(t, "top", "--db", dir, "--tenant", "c"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "the tenant c has no profiles: --tenant names one of a, anonymous, b") {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "top", "--db", dir, "--tenant", "a/b"); r.code != cli.ExitUsage {
		t.Errorf("%+v", r)
	}
}
