package serve

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// files are the names of the files with tokens and a certificate.
type files struct {
	read, write string
	tenants     string
	budgets     string
	rules       string
	writeToken  string // one token
	node        string // one token
	cert, key   string
}

// add adds the flags to a set.
func (f *files) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.read, "read-tokens", "", "`FILE` of tokens to ask with, one a line: requests have the header Authorization: Bearer TOKEN. A tenant behind a token binds it to the tenant")
	fs.StringVar(&f.write, "write-tokens", "", "`FILE` of tokens to push with, likewise")
	fs.StringVar(&f.tenants, "tenants", "", "`FILE` of tenants, one a line: NAME [retention=30d] [disk=10GiB] [series=1000]. Others may not push, unless one is called *, for all others")
	fs.StringVar(&f.budgets, "budgets", "", "`FILE` of budgets in place of the flags: memory=4GiB disk=100GiB retention=30d, on lines of any number")
	fs.StringVar(&f.rules, "rules", "", "`FILE` of rules, which make metrics from profiles for /metrics (granary rules --help)")
	fs.StringVar(&f.writeToken, "remote-write-token-file", "", "with --remote-write: `FILE` with the token to send")
	fs.StringVar(&f.node, "query-token-file", "", "with --query-from: `FILE` with the token to ask nodes with")
	fs.StringVar(&f.cert, "tls-cert", "", "`FILE` of the server's certificate, in PEM")
	fs.StringVar(&f.key, "tls-key", "", "`FILE` of its key, in PEM")
}

// secrets are the contents of the files.
type secrets struct {
	tokens  server.Tokens
	tenants map[string]server.TenantLimits // nil: any tenant
	budgets columnstore.Budgets            // of the store
	rules   server.Rules
	writes  atomic.Pointer[string]          // the token of --remote-write, or ""
	cert    atomic.Pointer[tls.Certificate] // nil: no TLS
}

// load reads the files. budgets and limits are those of the flags. Errors name the flag and the file.
func (f *files) load(budgets columnstore.Budgets, limits server.Limits) (*secrets, error) {
	s := new(secrets)
	s.tokens.Tenants = map[string]string{}
	var err error
	if s.tokens.Read, err = readTokens("read-tokens", f.read, s.tokens.Tenants); err != nil {
		return nil, err
	}
	if s.tokens.Write, err = readTokens("write-tokens", f.write, s.tokens.Tenants); err != nil {
		return nil, err
	}
	if s.tenants, err = readTenants("tenants", f.tenants); err != nil {
		return nil, err
	}
	if s.budgets, err = readBudgets("budgets", f.budgets, budgets); err != nil {
		return nil, err
	}
	if f.rules != "" {
		if s.rules, err = readRules(f.rules, limits); err != nil {
			return nil, fmt.Errorf("--rules: %w", err)
		}
	}
	writes, err := cli.ReadToken("remote-write-token-file", f.writeToken)
	if err != nil {
		return nil, err
	}
	s.writes.Store(&writes)
	if s.tokens.Node, err = cli.ReadToken("query-token-file", f.node); err != nil {
		return nil, err
	}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("--tls-cert and --tls-key: want both or none")
	}
	if f.cert != "" {
		cert, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", f.cert, f.key, err)
		}
		s.cert.Store(&cert)
	}
	return s, nil
}

// unbound returns the tokens that are bound to no tenant, for what is of none. If all are bound, no token is left that anybody has.
func (s *secrets) unbound() server.Tokens {
	t := server.Tokens{Read: slices.DeleteFunc(slices.Clone(s.tokens.Read), func(token string) bool { return s.tokens.Tenants[token] != "" })}
	if len(t.Read) == 0 && len(s.tokens.Read) > 0 {
		t.Read = []string{rand.Text()}
	}
	return t
}

// certificate is the GetCertificate of a tls.Config.
func (s *secrets) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.cert.Load(), nil
}

// readTokens reads a file of tokens, one per line with the tenant that it is bound to, if any, which is added to bound. A file
// without tokens is an error, because a server without tokens admits everyone.
func readTokens(flag, name string, bound map[string]string) (tokens []string, err error) {
	for fields, err := range fieldsOf(flag, name) {
		if err != nil {
			return nil, err
		}
		token, tenant := fields[0], ""
		if len(fields) > 1 {
			tenant = fields[1]
		}
		was, known := bound[token]
		switch {
		case len(fields) > 2:
			err = fmt.Errorf("want a token and a tenant, not %d words", len(fields))
		case tenant != "" && profile.CheckTenant(tenant) != nil:
			err = errors.New("behind it is no name of a tenant")
		}
		if err == nil && known && was != tenant {
			err = errors.New("it is there twice, and not for the same tenant")
		}
		if err != nil {
			return nil, fmt.Errorf("--%s %s: token %d: %w", flag, name, len(tokens)+1, err) // a token is a secret
		}
		tokens, bound[token] = append(tokens, token), tenant
	}
	if name != "" && len(tokens) == 0 {
		return nil, fmt.Errorf("--%s %s: the file has no token", flag, name)
	}
	return tokens, nil
}

// readTenants reads a file of tenants, one per line with its limits.
func readTenants(flag, name string) (map[string]server.TenantLimits, error) {
	if name == "" {
		return nil, nil
	}
	all := map[string]server.TenantLimits{}
	for fields, err := range fieldsOf(flag, name) {
		if err != nil {
			return nil, err
		}
		tenant := fields[0]
		if tenant != server.OtherTenants {
			err = profile.CheckTenant(tenant)
		}
		if _, twice := all[tenant]; twice && err == nil {
			err = errors.New("it is there twice")
		}
		var limits server.TenantLimits
		for _, field := range fields[1:] {
			if err == nil {
				err = setLimit(&limits, field)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--%s %s: tenant %q: %w", flag, name, tenant, err)
		}
		all[tenant] = limits
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--%s %s: the file has no tenant", flag, name)
	}
	return all, nil
}

// setLimit sets a limit from a text such as disk=10GiB.
func setLimit(l *server.TenantLimits, text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "retention":
		return cli.NewDuration(name, 0, 0, &l.Retention).Set(value)
	case "disk":
		return cli.NewBytes(name, 0, &l.FileBytes).Set(value)
	case "series":
		return cli.NewWholeNumber(name, 1, &l.Series).Set(value)
	}
	return fmt.Errorf("%q: want retention=30d, disk=10GiB or series=1000", text)
}

// fieldsOf yields the words of each line of a file. It skips empty lines, and lines that begin with #. Without a name there are none.
func fieldsOf(flag, name string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		if name == "" {
			return
		}
		data, err := os.ReadFile(name)
		if err != nil {
			yield(nil, fmt.Errorf("--%s: %w", flag, err))
			return
		}
		for line := range strings.Lines(string(data)) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0][0] != '#' && !yield(fields, nil) {
				return
			}
		}
	}
}
