package marks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var at = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func all(map[string]string) bool { return true }

// TestLogBounds: beyond each bound the oldest annotations go, and the file does not grow without end.
func TestLogBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks.jsonl")
	now := func() time.Time { return at }
	l, err := Open(path, now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * spareFile { // each is removed again, and so are their lines
		m, err := l.Add(Mark{Tenant: "a", Time: at, Text: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			continue
		}
		if found, err := l.Remove("a", m.ID); !found || err != nil {
			t.Fatal(found, err)
		}
	}
	if most := 2*l.count + spareFile + 2; l.lines > most {
		t.Errorf("a file of %d lines for %d annotations", l.lines, l.count)
	}
	again, err := Open(path, now)
	if err != nil {
		t.Fatal(err)
	}
	was, n := l.Range("a", time.Time{}, time.Time{}, 1000, all)
	is, m := again.Range("a", time.Time{}, time.Time{}, 1000, all)
	if n != 3 || m != n || was[2].Text != is[2].Text {
		t.Errorf("%d annotations, and %d of the file", n, m)
	}
	if _, err := l.Add(Mark{Tenant: "a", Time: at.Add(-mostAge - time.Hour), Text: "too old"}); err != nil {
		t.Fatal(err)
	}
	if _, m := l.Range("a", time.Time{}, time.Time{}, 1000, all); m != n {
		t.Errorf("%d annotations with one that is too old, want %d", m, n)
	}
}

// TestLogCounts: of a tenant, and of all tenants.
func TestLogCounts(t *testing.T) {
	l, err := Open("", func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	for tenant := range 6 {
		for i := range MostEach + 10 {
			if _, err := l.Add(Mark{Tenant: fmt.Sprint(tenant), Time: at.Add(time.Duration(i) * time.Second), Text: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, n := l.Range("0", time.Time{}, time.Time{}, 3, all)
	if n != MostEach || len(found) != 3 || found[2].Text != fmt.Sprint(MostEach+9) || l.count > Most {
		t.Errorf("%d of the first tenant, %d in all, the last %v", n, l.count, found)
	}
}

// TestLogErrors: an annotation that cannot be written is not there.
func TestLogErrors(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(filepath.Join(dir, "none", "marks.jsonl"), func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Add(Mark{Time: at, Text: "x"}); err == nil || l.count != 0 {
		t.Errorf("%d annotations, %v", l.count, err)
	}
	if _, err := Open(dir, nil); err == nil {
		t.Error("a directory is a file")
	}
	path := filepath.Join(dir, "long")
	if err := os.WriteFile(path, append(make([]byte, 5*mostLine), "\n{\"id\":\"1\",\"time\":\"2026-01-31T12:00:00Z\",\"text\":\"x\"}\n{}\nnull\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(path, func() time.Time { return at }); err != nil || l.count != 1 {
		t.Errorf("%d annotations beside a line that is too long, %v", l.count, err)
	}
}
