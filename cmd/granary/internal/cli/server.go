package cli

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// ServerURL returns the URL of a server from the value of a flag. HOST:PORT means http. The value may be a copied URL of pushes.
func ServerURL(flag, value string) (*url.URL, error) {
	if value == "" {
		return nil, Usage(fmt.Errorf("--%s URL is missing: the address of the server", flag))
	}
	address := value
	if !strings.Contains(value, "://") {
		address = "http://" + value
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "https+insecure"}, u.Scheme) || u.RawQuery != "" || u.Fragment != "" || address != value && u.Port() == "" {
		return nil, Usage(fmt.Errorf("--%s %q: want the address of a server, such as localhost:4040 or https://profiles.example.com", flag, value))
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/pprof")
	return u, nil
}

// ReadToken reads a file with one token. It returns "" if name is "".
func ReadToken(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("--%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", Usage(fmt.Errorf("--%s %s: want one token in it", flag, name))
	}
	return token, nil
}
