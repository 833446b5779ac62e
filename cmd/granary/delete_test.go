package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// TestDelete deletes the profiles of whole time ranges, from the disk too, and leaves the others.
func TestDelete(t *testing.T) {
	start := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "db")
	for hour := range 4 {
		p := service()
		p.TimeNanos = start.Add(time.Duration(hour) * time.Hour).UnixNano()
		p.Function[0].Name = fmt.Sprintf("main.ofHour%d", hour)
		if r := granary(t, "load", "--db", dir, "--label", fmt.Sprintf("hour=h%d", hour), file(t, "cpu.pb.gz", p)); r.code != cli.ExitOK {
			t.Fatalf("%+v", r)
		}
	}
	hours := func() string {
		r := granary(t, "labels", "--db", dir, "--name", "hour")
		found := ""
		for hour := range 4 {
			if strings.Contains(r.stdout, fmt.Sprintf("h%d", hour)) {
				found += fmt.Sprint(hour)
			}
		}
		return found
	}
	for _, step := range []struct{ before, want, left string }{
		{"2026-01-31T09:00:01Z", "Deleted 0 rows, 40 left\n", "0123"}, // within the range of the first
		{"2026-01-31T10:00:00Z", "Deleted 10 rows, 30 left\n", "123"},
		{"latest-1h", "Deleted 10 rows, 20 left\n", "23"},
		{"latest", "Deleted 10 rows, 10 left\n", "3"},
		{"latest-0s", "Deleted 0 rows, 10 left\n", "3"},
	} {
		r := granary(t, "delete", "--db", dir, "--before", step.before)
		if r.code != cli.ExitOK || r.stdout != step.want || r.stderr != "" {
			t.Errorf("%s: %+v, want %q", step.before, r, step.want)
		}
		if got := hours(); got != step.left {
			t.Errorf("%s: profiles of the hours %s are left, want %s", step.before, got, step.left)
		}
	}
	for name, data := range filesOf(t, dir) {
		if strings.Contains(data, "h0") && strings.Contains(data, "ofHour0") {
			t.Errorf("%s has what was deleted", name)
		}
	}
	if r := granary(t, "load", "--db", dir, file(t, "old.pb.gz", service())); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "older than what is kept") {
		t.Errorf("an old profile: %+v", r)
	}
	r := granary(t, "delete", "--db", dir, "--before", "2100-01-01")
	if r.code != cli.ExitOK || r.stdout != "Deleted 10 rows, 0 left\n" {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "top", "--db", dir); r.code != cli.ExitOK || !strings.Contains(r.stdout, "no samples") {
		t.Errorf("%+v", r)
	}
}

// TestDelete_Selector deletes samples by labels and times, and lists what it deleted.
func TestDelete_Selector(t *testing.T) {
	start := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "db")
	for i := range 8 {
		p := service()
		p.TimeNanos = start.Add(time.Duration(i/2) * time.Hour).UnixNano()
		if r := granary(t, "load", "--db", dir, "--label", fmt.Sprintf("user=secret%d", i%2), file(t, "cpu.pb.gz", p)); r.code != cli.ExitOK {
			t.Fatalf("%+v", r)
		}
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"--selector", `{user="nobody"}`}, "Deleted 0 rows, 80 left\n"},
		{[]string{"--selector", `{user="secret1"}`, "--from", "2026-01-31T10:00:00Z", "--to", "latest"}, "Deleted 20 rows, 60 left\n"},
		{[]string{"--selector", `{user="secret1"}`}, "Deleted 20 rows, 40 left\n"},
	} {
		if r := granary(t, append([]string{"delete", "--db", dir}, step.args...)...); r.code != cli.ExitOK || r.stdout != step.want || r.stderr != "" {
			t.Errorf("%q: %+v, want %q", step.args, r, step.want)
		}
	}
	if r := granary(t, "labels", "--db", dir, "--name", "user"); strings.Contains(r.stdout, "secret1") || !strings.Contains(r.stdout, "secret0") {
		t.Errorf("%+v", r)
	}
	log, err := os.ReadFile(filepath.Join(dir, "deletions.jsonl"))
	if lines := strings.Split(string(log), "\n"); err != nil || len(lines) != 3 || !strings.Contains(lines[1], `"selector":"{user=\"secret1\"}","rows":20}`) {
		t.Errorf("%v: %s", err, log)
	}
	if r := granary(t, "verify", "--db", dir); r.code != cli.ExitOK {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "delete", "--db", dir, "--selector", "{}"); r.code != cli.ExitOK || r.stdout != "Deleted 40 rows, 0 left\n" {
		t.Errorf("%+v", r)
	}
}

func TestDelete_Errors(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--before", "-1h"}, cli.ExitUsage, "--db DIR is missing"},
		{[]string{"--db", ""}, cli.ExitUsage, "--before TIME is missing"},
		{[]string{"--db", "", "--before", "-1h"}, cli.ExitUsage, "--db has no name"},
		{[]string{"--db", "none", "--before", "soon"}, cli.ExitUsage, `--before "soon"`},
		{[]string{"--db", "none", "--before", "-1h"}, cli.ExitFailed, "there is no such directory"},
		{[]string{"--db", "none", "--before", "-1h", "--selector", "{}"}, cli.ExitUsage, "choose one"},
		{[]string{"--db", "none", "--before", "-1h", "--to", "-2h"}, cli.ExitUsage, "--from and --to are for --selector"},
		{[]string{"--db", "none", "--selector", ""}, cli.ExitUsage, "--selector is empty"},
		{[]string{"--db", "none", "--selector", "user=a"}, cli.ExitUsage, "stand in braces"},
		{[]string{"--db", "none", "--before", "-1h", "cpu.pb.gz"}, cli.ExitUsage, "cpu.pb.gz"},
	} {
		r := granary(t, append([]string{"delete"}, tc.args...)...)
		if r.code != tc.code || len(r.problems()) != 1 || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
			t.Errorf("%q: %+v, want code %d and %q", tc.args, r, tc.code, tc.want)
		}
	}
}
