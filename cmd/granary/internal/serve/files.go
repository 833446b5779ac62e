package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/server"
)

// files are the names of the files with tokens and a certificate.
type files struct {
	read, write string
	node        string // one token
	cert, key   string
}

// add adds the flags to a set.
func (f *files) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.read, "read-tokens", "", "`FILE` of tokens to ask with, one a line: requests have the header Authorization: Bearer TOKEN")
	fs.StringVar(&f.write, "write-tokens", "", "`FILE` of tokens to push with, one a line")
	fs.StringVar(&f.node, "query-token-file", "", "with --query-from: `FILE` with the token to ask nodes with")
	fs.StringVar(&f.cert, "tls-cert", "", "`FILE` of the server's certificate, in PEM")
	fs.StringVar(&f.key, "tls-key", "", "`FILE` of its key, in PEM")
}

// secrets are the contents of the files.
type secrets struct {
	tokens server.Tokens
	cert   atomic.Pointer[tls.Certificate] // nil: no TLS
}

// load reads the files. Errors name the flag and the file.
func (f *files) load() (*secrets, error) {
	s := new(secrets)
	var err error
	if s.tokens.Read, err = readTokens("read-tokens", f.read); err != nil {
		return nil, err
	}
	if s.tokens.Write, err = readTokens("write-tokens", f.write); err != nil {
		return nil, err
	}
	if s.tokens.Node, err = readToken("query-token-file", f.node); err != nil {
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

// certificate is the GetCertificate of a tls.Config.
func (s *secrets) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.cert.Load(), nil
}

// readTokens reads a file of tokens, one per line. It skips empty lines, and lines that begin with #. A file
// without tokens is an error, because a server without tokens admits everyone.
func readTokens(flag, name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	var tokens []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			tokens = append(tokens, line)
		}
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("--%s %s: the file has no token", flag, name)
	}
	return tokens, nil
}
