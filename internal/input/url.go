package input

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Web fetches profiles from URLs. The zero value fetches like a browser without a login. It is safe for
// concurrent use.
type Web struct {
	// Client makes the requests; http.DefaultClient when nil.
	Client *http.Client
	// Header is added to each request.
	Header http.Header
	// Seconds is the time over which a server measures; 0 means the server's default.
	Seconds int
}

// URL returns the URL that Read fetches for a name from [Names], or "" for a file or standard input.
func (w *Web) URL(name string) string {
	if !IsURL(name) {
		return ""
	}
	if w.Seconds == 0 {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return name // Read reports it
	}
	query := u.Query()
	query.Set("seconds", strconv.Itoa(w.Seconds))
	u.RawQuery = query.Encode()
	return u.String()
}

// fetch returns the bytes of a URL.
func (w *Web) fetch(ctx context.Context, name string) ([]byte, error) {
	body, err := w.get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return limited(w.URL(name), body)
}

// get asks for a URL. Closing the answer ends the request.
func (w *Web) get(ctx context.Context, name string) (*fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout+time.Duration(w.Seconds)*time.Second)
	address := w.URL(name)
	resp, err := w.ask(ctx, address)
	if err != nil {
		cancel()
		return nil, err // the error names the URL
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel()
		defer resp.Body.Close()
		return nil, fmt.Errorf("%s: the server answers %s%s%s", address, resp.Status, message(resp), w.loginHint(resp))
	}
	return &fetched{resp.Body, cancel}, nil
}

// fetched is the body of an answer.
type fetched struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (a *fetched) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}

// ask sends a request with the header.
func (w *Web) ask(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, w.Header)
	if host := w.Header.Get("Host"); host != "" {
		req.Host = host // the client ignores the header
	}
	return w.Do(req)
}

// Do sends a request as Client does, and takes the scheme https+insecure too. Errors name the URL.
func (w *Web) Do(req *http.Request) (*http.Response, error) {
	client, err := w.clientFor(req.URL.Scheme)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", req.URL, err)
	}
	return client.Do(req)
}

// message returns the first line of a server's error answer, after ": ", or "" if the answer is not plain
// text.
func message(resp *http.Response) string {
	const most = 300
	head, _ := io.ReadAll(io.LimitReader(resp.Body, most)) // the status is the error, with a message or without
	line, _, _ := strings.Cut(strings.TrimSpace(string(head)), "\n")
	if line == "" || strings.HasPrefix(line, "<") { // an HTML page
		return ""
	}
	return ": " + strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar // a terminal would interpret the character
	}, strings.TrimSpace(line))
}

// loginHint returns the flag that sends a login, if a server requires one and none was sent.
func (w *Web) loginHint(resp *http.Response) string {
	if resp.StatusCode != http.StatusUnauthorized || w.Header.Get("Authorization") != "" {
		return ""
	}
	return ": give it one with --header 'Authorization: Bearer TOKEN'"
}

// insecure is the scheme of go tool pprof for https without verifying the server.
const insecure = "https+insecure"

// clientFor returns the client for a URL scheme.
func (w *Web) clientFor(scheme string) (*http.Client, error) {
	client := cmp.Or(w.Client, http.DefaultClient)
	if scheme != insecure {
		return client, nil
	}
	verified := cmp.Or(client.Transport, http.DefaultTransport)
	base, ok := verified.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("the client's transport, a %T, cannot leave out the verification of a server", verified)
	}
	unverified := base.Clone()
	unverified.DisableKeepAlives = true // because its idle connections would never be closed
	if unverified.TLSClientConfig == nil {
		unverified.TLSClientConfig = &tls.Config{}
	}
	unverified.TLSClientConfig.InsecureSkipVerify = true
	out := *client
	out.Transport = insecureTransport{verified, unverified}
	return &out, nil
}

// insecureTransport does not verify the servers of URLs with the scheme insecure. After a redirect to https
// it does verify, as go tool pprof does.
type insecureTransport struct{ verified, unverified http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t insecureTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != insecure {
		return t.verified.RoundTrip(req)
	}
	out := req.Clone(req.Context())
	out.URL.Scheme = "https"
	return t.unverified.RoundTrip(out)
}

// addressOf returns an argument's URL, or "" if it is not one. A host with a port is a URL, and a server
// without a path means its CPU profile, both as in go tool pprof.
func addressOf(arg string) string {
	if !IsURL(arg) {
		if !hasPort(arg) {
			return ""
		}
		arg = "http://" + arg
	}
	u, err := url.Parse(arg)
	if err != nil || (u.Path != "" && u.Path != "/") {
		return arg // Read reports an error
	}
	u.Path = "/debug/pprof/profile"
	return u.String()
}

// hasPort reports whether an argument begins with a host and a port number.
func hasPort(arg string) bool {
	if end := strings.IndexAny(arg, "/?"); end >= 0 {
		arg = arg[:end]
	}
	_, port, err := net.SplitHostPort(arg)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// IsURL reports whether an argument is a URL that can be fetched.
func IsURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") || strings.HasPrefix(arg, insecure+"://")
}
