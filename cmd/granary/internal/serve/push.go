package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/profile/format"
)

// Inputs are the profiles of the command push, as the other flags describe them.
type Inputs struct {
	Labels map[string]string
	Web    input.Web
	// Note reports on standard error that a profile is fetched.
	Note func(stderr io.Writer, web *input.Web, arg, name string)
}

// pusher sends profiles to a server.
type pusher struct {
	destination
	source Inputs
	to     *url.URL      // of profiles
	traces *url.URL      // of Go execution traces
	pause  time.Duration // before the second attempt at a profile
	notes  io.Writer     // where a second attempt is announced

	grown, anew int // profiles with values since the start of a process, by how the server counted them
}

// maxAttempts is the number of attempts to send a profile to a server that is overloaded or does not answer.
const maxAttempts = 4

// NewPush returns the command push. Its caller adds the flags of inputs, and source parses them.
func NewPush(inputsHelp string, source func() (Inputs, error)) *cobra.Command {
	p := pusher{pause: time.Second}
	cmd := &cobra.Command{
		Use:   "push --to URL [flags] INPUT...",
		Short: "Send profiles to a server",
		Long: `push sends profiles to a server that 'granary serve' runs, which stores them. It
prints the profiles and bytes that it sent.

A server stores a profile as a whole or not at all. Each profile has an id of
its own: if there is no answer, or the server has no room at the moment, it is
sent again, three times within seven seconds, and still counts once. A second
push of the same file counts twice. A profile without a time gets that of its
file. Values since the start of a process, as of Go's heap, block and mutex
profiles, count by what came since the profile before with equal labels.

The server keeps the states of a Go execution trace, of Go 1.25 or later, as a
history that is named by the labels, beside its CPU samples. Traces of one
process may overlap, as those of a flight recorder: what both have counts once.

` + inputsHelp,
		Example: `  granary push --to localhost:4040 --label job=api cpu.pb.gz heaps/
  granary push --to localhost:4040 --label job=api --label pod=1 flight-*.trace
  granary push --to https://profiles.example.com --token-file push.txt \
      --label job=api http://localhost:6060/debug/pprof/heap`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p.notes = cmd.ErrOrStderr()
			var err error
			if p.source, err = source(); err != nil {
				return err
			}
			if err := p.parse(); err != nil {
				return err
			}
			p.to, p.traces = p.url.JoinPath(pushPath), p.url.JoinPath(tracePath)
			return p.run(cmd, args)
		},
	}
	p.add(cmd)
	return cmd
}

// The paths on a server that take an unmodified profile, and a Go execution trace.
const (
	pushPath  = "pprof"
	tracePath = "traces"
)

// run sends the profiles of inputs. It reports profiles that cannot be read or sent, and continues with the
// others.
func (p *pusher) run(cmd *cobra.Command, args []string) error {
	var sent, failed int
	var size int64
	var last error
	for _, arg := range args {
		for _, of := range inOrder(input.Names(arg)) {
			name, err := of.name, of.err
			var n int
			if err == nil {
				p.source.Note(cmd.ErrOrStderr(), &p.source.Web, arg, name)
				n, err = p.push(cmd.Context(), name)
			}
			if err = cmp.Or(cmd.Context().Err(), err); err == nil {
				sent, size = sent+1, size+int64(n)
				continue
			}
			if cmd.Context().Err() != nil {
				return err
			}
			if last != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s\n", cli.OneLine(last))
			}
			last, failed = err, failed+1
		}
	}
	if sent > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s, %s sent to %s\n", cli.Many(sent, "profile"), cli.Size(size), p.to.Redacted())
		if p.grown+p.anew > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "Values since the start of a process: %d by their growth, %d as the first of a source, which counts 0 unless serve has --first-whole\n", p.grown, p.anew)
		}
	}
	if last != nil && sent > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s\n", cli.OneLine(last))
		return cli.Failed(fmt.Errorf("%s could not be sent", cli.Many(failed, "profile")))
	}
	return last
}

// named is the name of an input, or the error of one.
type named struct {
	name string
	err  error
}

// inOrder returns names as people number them, heap-9 before heap-10, because a server makes differences of profiles in the order
// in which they come.
func inOrder(names iter.Seq2[string, error]) (all []named) {
	for name, err := range names {
		all = append(all, named{name, err})
	}
	slices.SortStableFunc(all, func(a, b named) int { return byNumbers(a.name, b.name) })
	return all
}

// byNumbers compares texts, and digits in them as numbers.
func byNumbers(a, b string) int {
	for a != "" && b != "" {
		n, m := len(a)-len(strings.TrimLeft(a, digits)), len(b)-len(strings.TrimLeft(b, digits))
		if n > 0 && m > 0 {
			x, y := strings.TrimLeft(a[:n], "0"), strings.TrimLeft(b[:m], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[n:], b[m:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

const digits = "0123456789"

// push sends a profile, and returns its size in bytes.
func (p *pusher) push(ctx context.Context, name string) (int, error) {
	data, at, err := p.source.Web.Read(ctx, name)
	if err != nil {
		return 0, err
	}
	labels := map[string]string{}
	maps.Copy(labels, input.FolderLabels(name))
	maps.Copy(labels, p.source.Labels)
	query := url.Values{"time": {strconv.FormatInt(at.UnixNano(), 10)}, "origin": {path.Base(name)}}
	for label, value := range labels {
		query.Set(label, value)
	}
	to := *p.to
	if format.Of(data) == format.GoTrace {
		to = *p.traces
	}
	to.RawQuery = query.Encode()
	id := uuid.NewString()
	for attempt := 1; ; attempt++ {
		again, err := p.send(ctx, to.String(), id, data)
		if err == nil {
			return len(data), nil
		}
		if !again || attempt == maxAttempts {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if attempt == 1 {
			fmt.Fprintf(p.notes, "granary: %s: %s: trying again for %v\n", cli.Printable(name), cli.OneLine(err), p.pause<<(maxAttempts-1)-p.pause)
		}
		select {
		case <-time.After(p.pause << (attempt - 1)):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// send sends a profile once. again reports whether another attempt can succeed.
func (p *pusher) send(ctx context.Context, to, id string, data []byte) (again bool, err error) {
	req, err := p.request(ctx, to, bytes.NewReader(data))
	if err != nil {
		return false, err
	}
	req.Header.Set("X-Idempotency-Key", id)
	resp, err := p.source.Web.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // the URL is long, because it has the labels
			err = u.Err
		}
		_, refused := errors.AsType[*tls.CertificateVerificationError](err)
		return !refused, fmt.Errorf("%s: %w", p.to.Redacted(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
	switch {
	case err != nil:
		return true, fmt.Errorf("%s: %w", p.to.Redacted(), err)
	case resp.StatusCode < 300:
		switch how := resp.Header.Get("Granary-Cumulative"); how {
		case "", "late=1":
		case "growth=1":
			p.grown++
		default:
			p.anew++
		}
		return false, nil
	}
	again = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable
	return again, fmt.Errorf("%s: %s: %s", p.to.Redacted(), resp.Status, p.reason(resp.StatusCode, cli.Printable(strings.TrimSpace(string(text)))))
}

// reason returns the text of a server's refusal, with a remedy if there is one.
func (p *pusher) reason(status int, text string) string {
	switch {
	case status == http.StatusUnauthorized && p.token == "":
		text += ": name a file with the token to push with: --token-file FILE"
	case status == http.StatusUnauthorized:
		text += ": that of --token-file is none to push with"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		text = "no profiles are taken there: want the address of a granary serve"
	case strings.HasSuffix(text, "to an HTTPS server."): // the text of net/http
		text += " Use --to https://" + p.to.Host
	}
	return text
}
