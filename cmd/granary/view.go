package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/serve"
	"github.com/granarydb/granary/cmd/granary/internal/states"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/opened"
	"github.com/granarydb/granary/server"
)

// viewAddress is the default address of view: a free port.
const viewAddress = "127.0.0.1:0"

func newView() *cobra.Command {
	var f inputFlags
	o := viewOptions{listen: viewAddress}
	cmd := &cobra.Command{
		Use:   "view [flags] INPUT...",
		Short: "Show profiles in a browser",
		Long: `view loads the profiles into memory, serves the page of 'granary serve' on a
free port of this machine, prints its URL and opens a browser. Stop it with
Ctrl-C. It writes no files.

The page begins with the time of all inputs. It has flame graphs, tables,
callers and callees, lines over time and differences. An input with states over
time, which is a Go execution trace (go test -trace), a history file or set, or
CSV, is drawn above the profiles of the same time. The CPU samples of traces are
shown too, unless profiles are named beside them, which have these samples.

With --base the profiles are compared: those of --base are the side before, and
the page begins with the difference. The label side of a profile says which
side it is on, before or after.

view opens the browser of the system, or of the variable BROWSER: a command, or
several separated as in PATH, in which %s stands for the URL. --no-open does
not open a browser, for example on another machine: ssh -L 8080:localhost:8080
HOST, then view --no-open --listen localhost:8080 there. Other clients can read
too, such as go tool pprof 'http://localhost:8080/pprof?type=cpu'.

` + inputsHelp,
		Example: `  granary view cpu.pb.gz
  granary view profiles/
  granary view 'http://localhost:6060/debug/pprof/profile?seconds=10'
  granary view cpu.out trace.out   # of go test -cpuprofile and -trace
  granary view --base old.pb.gz new.pb.gz
  granary view --sources "$PWD=." cpu.out   # the text beside the lines
  granary view --no-open --listen localhost:8080 heaps/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := someInputs(cmd, args); err != nil || len(o.base) == 0 {
				return err
			}
			return checkInputs(cmd, slices.Concat(o.base, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := f.source()
			if err != nil {
				return err
			}
			if _, has := source.labels[opened.SideLabel]; has && len(o.base) > 0 {
				return cli.Usage(errors.New("--label side: with --base the label is that of the sides, before and after"))
			}
			return o.view(cmd, source, args)
		},
	}
	cmd.Flags().StringArrayVar(&o.base, "base", nil, "compare with the profiles of `INPUT`; may be repeated")
	cmd.Flags().StringVar(&o.listen, "listen", o.listen, "`HOST:PORT` to listen on; with port 0, a free port is chosen. Any client that reaches it can read and push")
	cmd.Flags().BoolVar(&o.stays, "no-open", false, "print the URL, and open no browser")
	cmd.Flags().Var(cli.NewDuration("for", 1, 0, &o.lasts), "for", "end after `DURATION` (default: with Ctrl-C)")
	serve.AddSources(cmd.Flags(), &o.sources)
	f.storeFlags(cmd)
	return cmd
}

// viewOptions is what the flags of view say.
type viewOptions struct {
	listen string
	stays  bool
	base   []string // inputs of the side before
	lasts  time.Duration

	sources []server.SourceDir
}

// view serves the inputs from memory until it is interrupted. It returns at once if a recording cannot be
// read, or none of the profiles of a side. If only some profiles cannot be read, it reports them on stderr, serves the
// rest, and returns an error at the end.
func (o *viewOptions) view(cmd *cobra.Command, source inputSource, args []string) (err error) {
	web, err := serve.Listen(o.listen)
	if err != nil {
		return err
	}
	defer func() { _ = web.Close() }() // serving closes it too
	l, err := open(columnstore.Options{}, source)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, l.Close()) }()
	query, err := o.load(cmd, l, args)
	if err != nil {
		return err
	}
	if o.lasts > 0 {
		ctx, cancel := context.WithTimeout(cmd.Context(), o.lasts)
		defer cancel()
		cmd.SetContext(ctx)
	}
	err = serve.View(cmd, web, serve.Page{Query: query, Sources: o.sources}, l.store, opening(cmd, o.stays))
	return cmp.Or(err, l.failure())
}

// load loads the inputs of both sides, and returns the query of the address that the page begins with.
func (o *viewOptions) load(cmd *cobra.Command, l *loaded, args []string) (string, error) {
	if len(o.base) > 0 {
		if err := l.addSide(cmd, opened.Before, o.base); err != nil {
			return "", fmt.Errorf("--base: %w", err)
		}
		if err := l.addSide(cmd, opened.After, args); err != nil {
			return "", err
		}
	} else if err := l.addShown(cmd, args); err != nil {
		return "", err
	}
	return opened.Query(cmd.Context(), l.db, len(o.base) > 0)
}

// addShown inserts profiles, and recordings of states as histories.
func (l *loaded) addShown(cmd *cobra.Command, args []string) error {
	var profiles []string
	l.withStates = !slices.ContainsFunc(args, func(arg string) bool { return !states.IsRecording(arg) })
	for _, arg := range args {
		if !states.IsRecording(arg) || l.withStates && isGoTrace(arg) {
			profiles = append(profiles, arg)
		} else if err := states.Add(cmd, l.store, arg); err != nil {
			return err
		}
	}
	if len(profiles) == 0 {
		return nil
	}
	return l.addAll(cmd.Context(), cmd.ErrOrStderr(), profiles, func() error { return nil })
}

// addSide inserts the profiles of a side of a difference. It returns an error if there are none.
func (l *loaded) addSide(cmd *cobra.Command, side string, args []string) error {
	before := l.good
	l.good, l.source.labels = 0, maps.Clone(l.source.labels)
	l.source.labels[opened.SideLabel] = side
	err := l.addAll(cmd.Context(), cmd.ErrOrStderr(), args, func() error { return nil })
	l.good += before
	return err
}

// opening returns a function for the URL of a command's server. Unless stays is true, the function opens a
// browser, and reports on standard error if it cannot.
func opening(cmd *cobra.Command, stays bool) func(url string) {
	return func(url string) {
		if !stays && !openBrowser(cmd.Context(), url) {
			fmt.Fprintln(cmd.ErrOrStderr(), "granary: no browser could be started: open the URL in one, or set BROWSER")
		}
	}
}

// openBrowser starts a browser with a URL, and reports whether a browser could be started. It tries the
// commands in the environment variable BROWSER, separated as in PATH, or the system's browser. No goroutine
// waits for the browser, because it can outlive this process.
func openBrowser(ctx context.Context, url string) bool {
	commands := [][]string{{"xdg-open", url}}
	switch runtime.GOOS {
	case "darwin":
		commands = [][]string{{"open", url}}
	case "windows":
		commands = [][]string{{"rundll32", "url.dll,FileProtocolHandler", url}}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			commands = nil // xdg-open would start, and fail later
		}
	}
	if own := os.Getenv("BROWSER"); own != "" {
		commands = nil
		for _, text := range filepath.SplitList(own) {
			commands = append(commands, browserCommand(text, url))
		}
	}
	for _, command := range commands {
		if len(command) == 0 {
			continue
		}
		cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
		if cmd.Start() == nil {
			_ = cmd.Process.Release()
			return true
		}
	}
	return false
}

// browserCommand splits a command of BROWSER into words. The URL replaces %s, or becomes the last word.
func browserCommand(text, url string) []string {
	words := strings.Fields(text)
	there := false
	for i, word := range words {
		if strings.Contains(word, "%s") {
			words[i], there = strings.ReplaceAll(word, "%s", url), true
		}
	}
	if !there && len(words) > 0 {
		words = append(words, url)
	}
	return words
}
