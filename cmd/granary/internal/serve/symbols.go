package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/server"
)

// checkSymbols returns a usage error for a directory that cannot be read, or a server that cannot be asked.
func (f *flags) checkSymbols() error {
	for _, dir := range f.symbols.Dirs {
		if _, err := os.ReadDir(dir); err != nil {
			return cli.Usage(fmt.Errorf("--symbols: %w", err))
		}
	}
	if f.symbols.Debuginfod == "" {
		return nil
	}
	if f.inMemory {
		return cli.Usage(errors.New("--debuginfod and --in-memory: a store in memory has no directory for files: leave one of them out"))
	}
	if u, err := url.Parse(f.symbols.Debuginfod); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return cli.Usage(fmt.Errorf("--debuginfod %s: want an http or https URL", cli.Printable(f.symbols.Debuginfod)))
	}
	return nil
}

// symbolOptions returns the options of a server with a store.
func (f *flags) symbolOptions() server.SymbolOptions {
	opts := f.symbols
	if !f.inMemory {
		opts.Keep = filepath.Join(f.dir, symbolsName)
	}
	return opts
}

// fetchSymbols asks the debuginfod server until the returned function is called, which waits.
func (f *flags) fetchSymbols(ctx context.Context, handle *server.Server) (stop func()) {
	if f.symbols.Debuginfod == "" {
		return func() {}
	}
	return beside(ctx, handle.FetchSymbols)
}

// beside runs f on a goroutine of its own until the returned function is called, which waits.
func beside(ctx context.Context, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		f(ctx)
		close(ended)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// symbolPusher sends files to POST /symbols.
type symbolPusher struct {
	destination
	to  *url.URL
	web input.Web
}

// NewPushSymbols returns the command push-symbols.
func NewPushSymbols() *cobra.Command {
	var p symbolPusher
	cmd := &cobra.Command{
		Use:   "push-symbols --to URL FILE...",
		Short: "Send a server the binaries that its profiles have addresses of",
		Long: `push-symbols sends files to a server that 'granary serve' runs. Profiles of
native or stripped programs have addresses, not functions. The server names them
by these files, also in profiles that it has already. A FILE is a binary, its
debug information (objcopy --only-keep-debug), or a symbol file of Breakpad. Its
build id tells the server what it is of: link with --build-id, as Go and most
compilers do.

The server keeps the files of a tenant up to its --max-symbols. The oldest go.`,
		Example: `  granary push-symbols --to localhost:4040 ./shop
  granary push-symbols --to https://profiles.example.com \
      --token-file push.txt build/*.debug`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(errors.New("name at least one FILE: a binary, its debug information, or a symbol file of Breakpad"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.parse(); err != nil {
				return err
			}
			p.to = p.url.JoinPath("symbols")
			return p.run(cmd, args)
		},
	}
	p.add(cmd)
	return cmd
}

// run sends files. It reports a file that fails, and continues with the others.
func (p *symbolPusher) run(cmd *cobra.Command, args []string) error {
	failed := 0
	for _, name := range args {
		kept, err := p.push(cmd.Context(), name)
		if cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		if err != nil {
			failed++
			fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s: %s\n", cli.Printable(name), cli.OneLine(err))
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: build id %s, %s\n", cli.Printable(name), cli.Printable(kept.BuildID), cli.Size(kept.Bytes)); err != nil {
			return err
		}
	}
	if failed > 0 {
		return cli.Failed(fmt.Errorf("%s could not be sent", cli.Many(failed, "file")))
	}
	return nil
}

// keptSymbols is the server's answer.
type keptSymbols struct {
	BuildID string `json:"build_id"`
	Bytes   int64  `json:"bytes"`
}

// push sends a file.
func (p *symbolPusher) push(ctx context.Context, name string) (kept keptSymbols, err error) {
	in, err := os.Open(name)
	if err != nil {
		return kept, err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return kept, err
	}
	req, err := p.request(ctx, p.to.String(), in)
	if err != nil {
		return kept, err
	}
	req.ContentLength = info.Size()
	resp, err := p.web.Do(req)
	if err != nil {
		return kept, err
	}
	defer func() { err = cmp.Or(err, resp.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
	if err != nil {
		return kept, err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return kept, fmt.Errorf("%s: %s: %s", p.to.Redacted(), resp.Status, cli.Printable(strings.TrimSpace(string(text))))
	}
	return kept, json.Unmarshal(text, &kept)
}
