package server

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/granarydb/granary/profile"
)

// Tokens are the tokens that requests must have: as bearer tokens, or as the password of any user. If Read is
// empty, everyone can query; if Write is empty, everyone can push. A token for writing does not allow reading.
type Tokens struct {
	Read, Write []string
	// Tenants binds some of the tokens to a tenant each. Such a token reaches nothing of other tenants, and its requests need
	// not name the tenant. A token that is not bound reaches each tenant by its name, and so does a request without a token if
	// Read, or Write, is empty.
	Tenants map[string]string
	// Node is the token that a front sends to its nodes, one of their Read tokens, and bound to no tenant. Empty sends none.
	Node string
}

// right is what a request needs.
type right int

const (
	toRead right = iota
	toWrite
	toWatch // to read what is about all tenants
)

// grant is what a token allows.
type grant struct {
	read, write bool
	tenant      string // "": each
}

// grants has what tokens allow, by their hashes: the time of a search by a hash tells nothing about tokens.
type grants struct {
	all  map[[sha256.Size]byte]grant
	open grant // what a request without a token may do
	node string
}

// newGrants returns what tokens allow. The error is profile.ErrTenant for a token that is bound to no valid name.
func newGrants(t Tokens) (*grants, error) {
	g := &grants{all: map[[sha256.Size]byte]grant{}, open: grant{read: len(t.Read) == 0, write: len(t.Write) == 0}, node: t.Node}
	add := func(tokens []string, allow func(*grant)) error {
		for _, token := range tokens {
			hash := sha256.Sum256([]byte(token))
			one := g.all[hash]
			if one.tenant = t.Tenants[token]; one.tenant != "" {
				if err := profile.CheckTenant(one.tenant); err != nil {
					return err
				}
			}
			allow(&one)
			g.all[hash] = one
		}
		return nil
	}
	err := add(t.Read, func(one *grant) { one.read = true })
	return g, cmp.Or(err, add(t.Write, func(one *grant) { one.write = true }))
}

// of returns what a request may do.
func (g *grants) of(r *http.Request) grant {
	out := g.open
	if token, has := tokenOf(r); has {
		own := g.all[sha256.Sum256([]byte(token))]
		out = grant{own.read || out.read, own.write || out.write, own.tenant}
	}
	return out
}

// tokenOf returns a request's token: as a bearer token, or as the password of any user, because go tool pprof, Grafana and
// some SDKs send nothing else. An answer does not ask for a password, because browsers would then ask their users.
func tokenOf(r *http.Request) (token string, has bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimLeft(token, " "), true
	}
	_, token, has = r.BasicAuth()
	return token, has
}
