package server

import (
	"crypto/sha256"
	"net/http"
	"strings"
)

// Tokens are the tokens that requests must have: as bearer tokens, or as the password of any user. If Read is
// empty, everyone can query; if Write is empty, everyone can push. A token for writing does not allow reading.
type Tokens struct {
	Read, Write []string
	// Tenants binds some of the tokens to a tenant each. Such a token reaches nothing of other tenants, and its requests need
	// not name the tenant. A token that is not bound reaches each tenant by its name.
	Tenants map[string]string
	// Node is the token that a front sends to its nodes, one of their Read tokens, and bound to no tenant. Empty sends none.
	Node string
}

// right is what a request needs a token for.
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

// grants has what tokens allow, by their hashes. A search by a hash takes times that tell nothing about tokens.
type grants struct {
	all                     map[[sha256.Size]byte]grant
	openToRead, openToWrite bool
	node                    string
}

func newGrants(t Tokens) *grants {
	g := &grants{all: map[[sha256.Size]byte]grant{}, openToRead: len(t.Read) == 0, openToWrite: len(t.Write) == 0, node: t.Node}
	add := func(tokens []string, allow func(*grant)) {
		for _, token := range tokens {
			hash := sha256.Sum256([]byte(token))
			one := g.all[hash]
			one.tenant = t.Tenants[token]
			allow(&one)
			g.all[hash] = one
		}
	}
	add(t.Read, func(one *grant) { one.read = true })
	add(t.Write, func(one *grant) { one.write = true })
	return g
}

// of returns what the token of a request allows. Without a token, or with an unknown one, it allows nothing.
func (g *grants) of(r *http.Request) grant {
	if token, has := tokenOf(r); has && len(g.all) > 0 {
		return g.all[sha256.Sum256([]byte(token))]
	}
	return grant{}
}

// allow reports whether a request has a right.
func (g *grants) allow(r *http.Request, of right) bool {
	if of == toWrite {
		return g.openToWrite || g.of(r).write
	}
	return g.openToRead || g.of(r).read
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
