package serve

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server"
)

// TestFiles reads tokens with the tenants that they are bound to, and tenants with their limits.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	f := files{
		read: write("read", "# readers\nall\n  one   team-a \n"), write: write("write", "two team-a\n\none team-a\n"),
		tenants: write("tenants", "# with limits\nteam-a retention=30d disk=10GiB series=7\nteam-b\n*  disk=1MiB\n"),
	}
	s, err := f.load(columnstore.Budgets{}, server.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.tokens.Read, []string{"all", "one"}) || !slices.Equal(s.tokens.Write, []string{"two", "one"}) ||
		!reflect.DeepEqual(s.tokens.Tenants, map[string]string{"all": "", "one": "team-a", "two": "team-a"}) {
		t.Errorf("tokens %+v", s.tokens)
	}
	want := map[string]server.TenantLimits{
		"team-a":            {TableLimits: columnstore.TableLimits{Retention: 30 * 24 * time.Hour, FileBytes: 10 << 30}, Series: 7},
		"team-b":            {},
		server.OtherTenants: {TableLimits: columnstore.TableLimits{FileBytes: 1 << 20}},
	}
	if !reflect.DeepEqual(s.tenants, want) {
		t.Errorf("tenants %+v", s.tenants)
	}
	for name, bad := range map[string]struct {
		files
		says string
	}{
		"two tenants":    {files{read: write("r", "t a\n"), write: write("w", "t b\n")}, `--write-tokens`},
		"twice":          {files{read: write("r2", "t a\nt b\n")}, `not for the same tenant`},
		"bound and not":  {files{read: write("r6", "t a\nt\n")}, `not for the same tenant`},
		"three words":    {files{read: write("r3", "t a b\n")}, `token 1: want a token and a tenant, not 3 words`},
		"no tenant":      {files{read: write("r4", "t a/b\n")}, `behind it is no name of a tenant`},
		"no token":       {files{read: write("r5", "# none\n")}, `the file has no token`},
		"no limit":       {files{tenants: write("t1", "a memory=1\n")}, `tenant "a": "memory=1": want retention=30d`},
		"bad retention":  {files{tenants: write("t2", "a retention=x\n")}, `tenant "a"`},
		"no name":        {files{tenants: write("t3", "a|b\n")}, `ask for one at a time`},
		"tenant twice":   {files{tenants: write("t4", "a\na\n")}, `it is there twice`},
		"no budget":      {files{budgets: write("b1", "memory=1GiB tokens=1\n")}, `--budgets `},
		"bad budget":     {files{budgets: write("b2", "# ok\n\nmemory=1GiB\ndisk=1\n")}, `--disk "1": want bytes`},
		"no budgets":     {files{budgets: filepath.Join(dir, "none")}, `--budgets: `},
		"no tenants":     {files{tenants: write("t5", "\n")}, `the file has no tenant`},
		"no such file":   {files{tenants: filepath.Join(dir, "none")}, `--tenants`},
		"no such tokens": {files{read: filepath.Join(dir, "none")}, `--read-tokens`},
	} {
		if _, err := bad.load(columnstore.Budgets{}, server.Limits{}); err == nil || !strings.Contains(err.Error(), bad.says) || strings.Contains(err.Error(), "token t") {
			t.Errorf("%s: %v, want %q", name, err, bad.says)
		}
	}
}
