package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/serve"
	"github.com/granarydb/granary/cmd/granary/internal/states"
	"github.com/granarydb/granary/columnstore"
)

// viewAddress is where view listens unless it is told otherwise: on a free port.
const viewAddress = "127.0.0.1:0"

func newView() *cobra.Command {
	var f inputFlags
	listen := viewAddress
	var stays bool
	cmd := &cobra.Command{
		Use:   "view [flags] INPUT...",
		Short: "Show profiles in a browser",
		Long: `view loads the profiles into memory, serves the page of 'granary serve' on a
free port of this machine, prints its URL and opens a browser. It ends with
Ctrl-C, and nothing is left of it: no file is written.

The page has flame graphs, tables, callers and callees, lines over time and
differences. An input with states over time, which is a Go execution trace
(go test -trace), a history file or set, or CSV, is drawn above the profiles of
the same time.

The browser is that of the system, or of the variable BROWSER: a command, or
several separated as in PATH, in which %s stands for the URL. --no-open leaves
it out, for example on another machine: ssh -L 8080:localhost:8080 HOST, then
view --no-open --listen localhost:8080 there. The URL answers granary's other
clients too, such as go tool pprof URL/pprof?type=cpu.

` + inputsHelp,
		Example: `  granary view cpu.pb.gz
  granary view profiles/
  granary view http://localhost:6060/debug/pprof/heap
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
	cmd.Flags().StringVar(&listen, "listen", listen, "`HOST:PORT` to listen on; port 0 is a free one. Who reaches it can read and push")
	cmd.Flags().BoolVar(&stays, "no-open", false, "open no browser: the URL is printed only")
	f.flags(cmd)
	return cmd
}

// view serves the inputs from memory until it is interrupted. Those that cannot be read are reported, and
// are the error at the end.
func view(cmd *cobra.Command, source inputSource, args []string, listen string, stays bool) (err error) {
	l, err := open(columnstore.Options{}, source)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, l.Close()) }()
	var profiles []string
	for _, arg := range args {
		if !states.IsRecording(arg) {
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
	err = serve.View(cmd, listen, l.store, func(url string) {
		if !stays && !openBrowser(cmd.Context(), url) {
			fmt.Fprintln(cmd.ErrOrStderr(), "granary: no browser could be started: open the URL in one, or set BROWSER")
		}
	})
	if err == nil && l.failed > 0 {
		err = cli.Failed(errors.New("some inputs could not be read"))
	}
	return err
}
