package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/serve"
	"github.com/granarydb/granary/cmd/granary/internal/states"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// viewAddress is the default address of view: a free port.
const viewAddress = "127.0.0.1:0"

func newView() *cobra.Command {
	var f inputFlags
	listen := viewAddress
	var stays bool
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
  granary view --no-open --listen localhost:8080 heaps/`,
		Args: someInputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := f.source()
			if err != nil {
				return err
			}
			return view(cmd, source, args, listen, stays)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", listen, "`HOST:PORT` to listen on; with port 0, a free port is chosen. Anyone who can reach it can read and push")
	cmd.Flags().BoolVar(&stays, "no-open", false, "print the URL, and open no browser")
	f.storeFlags(cmd)
	return cmd
}

// view serves the inputs from memory until it is interrupted. It returns at once if a recording cannot be
// read, or none of the profiles. If only some profiles cannot be read, it reports them on stderr, serves the
// rest, and returns an error at the end.
func view(cmd *cobra.Command, source inputSource, args []string, listen string, stays bool) (err error) {
	web, err := serve.Listen(listen)
	if err != nil {
		return err
	}
	defer func() { _ = web.Close() }() // serving closes it too
	l, err := open(columnstore.Options{}, source)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, l.Close()) }()
	var profiles []string
	l.withStates = !slices.ContainsFunc(args, func(arg string) bool { return !states.IsRecording(arg) })
	for _, arg := range args {
		if !states.IsRecording(arg) || l.withStates && isGoTrace(arg) {
			profiles = append(profiles, arg)
		} else if err := states.Add(cmd, l.store, arg); err != nil {
			return err
		}
	}
	if len(profiles) > 0 {
		if err := l.addAll(cmd.Context(), cmd.ErrOrStderr(), profiles, func() error { return nil }); err != nil {
			return err
		}
	}
	query, err := pageRange(cmd.Context(), l)
	if err != nil {
		return err
	}
	err = serve.View(cmd, web, query, l.store, opening(cmd, stays))
	return cmp.Or(err, l.failure())
}

// pageRange returns the query of a page address that shows all profiles and histories of a store. Without a
// range the page begins with the hour before the newest profile. The range is widened to whole milliseconds,
// the resolution of the page. The range of a single instant begins one second earlier.
func pageRange(ctx context.Context, l *loaded) (string, error) {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	cover := func(start, end int64) { from, to = min(from, start), max(to, end) }
	err := l.store.View(ctx, func(snap *columnstore.Snapshot) error {
		times, err := l.db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{By: []string{profile.ColumnTimestamp, profile.ColumnDuration}})
		if err != nil {
			return err
		}
		for row := range times.Counts {
			at, lasts := times.Columns[0].Values.Int64s[row], times.Columns[1].Values.Int64s[row]
			cover(at, max(at, at+max(0, lasts))) // the sum wraps around if it exceeds 64 bits
		}
		for _, handle := range l.store.Histories() {
			v, err := snap.History(handle)
			if err != nil {
				return err
			}
			if v.Instants() {
				cover(v.Start(), v.End())
			}
		}
		return nil
	})
	if err != nil || from > to {
		return "", err
	}
	start, end := time.Unix(0, from).UTC().Truncate(time.Millisecond), time.Unix(0, to).UTC().Truncate(time.Millisecond).Add(time.Millisecond) // the range excludes its end
	if end.Sub(start) <= time.Millisecond {
		start = start.Add(-time.Second)
	}
	return "?from=" + start.Format(time.RFC3339Nano) + "&to=" + end.Format(time.RFC3339Nano), nil
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
