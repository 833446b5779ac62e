package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/cmd/granary/internal/serve"
	"github.com/granarydb/granary/internal/input"
)

// inputs is the argument check of commands that need --db, or at least one input.
func inputs(cmd *cobra.Command, args []string) error {
	if db := cmd.Flags().Lookup("db"); db.Changed {
		return insteadOfInputs(cmd, args, 1)
	}
	return someInputs(cmd, args)
}

// someInputs is the argument check of commands that need at least one input.
func someInputs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.Usage(errors.New("name at least one profile: a file, a directory, an http URL, host:port, or - for standard input"))
	}
	return checkInputs(cmd, args)
}

// insteadOfInputs returns a usage error for inputs, or flags of inputs, together with --db, and for more than
// `most` --db flags.
func insteadOfInputs(cmd *cobra.Command, args []string, most int) error {
	if len(args) > 0 {
		return cli.Usage(fmt.Errorf("--db is read instead of inputs: leave out %q or --db; granary load adds to a directory", args[0]))
	}
	if dirs, err := cmd.Flags().GetStringArray("db"); err == nil && len(dirs) > most {
		return cli.Usage(errors.New("--db is there too often"))
	}
	names := []string{"label", "seconds", "all-frames", "cumulative", "header", "tls-ca", "tls-cert", "tls-key", "tls-skip-verify"}
	if i := slices.IndexFunc(names, cmd.Flags().Changed); i >= 0 {
		return cli.Usage(fmt.Errorf("--%s is about inputs, and --db reads none: it belongs to granary load", names[i]))
	}
	return nil
}

// checkInputs returns a usage error if standard input is listed twice, or an input has no name or is a store.
func checkInputs(cmd *cobra.Command, args []string) error {
	n := 0
	for _, arg := range args {
		if arg == "" {
			return cli.Usage(errors.New("an input has no name: is a variable of the shell empty?"))
		}
		if arg == "-" {
			n++
		} else if dbdir.IsStore(arg) {
			return cli.Usage(fmt.Errorf("%s: it is the directory of a store: %s", arg, asksStore(cmd, arg)))
		}
	}
	if n > 1 {
		return cli.Usage(errors.New("standard input can be read once: name - once"))
	}
	return nil
}

// asksStore tells how to ask a store that is named as an input of a command.
func asksStore(cmd *cobra.Command, dir string) string {
	if db := cmd.Flags().Lookup("db"); db != nil && cmd.Name() != "load" {
		return "use --db " + dir
	}
	return fmt.Sprintf("granary serve --db %s shows it", dir)
}

// inputFlags holds the flags of inputs: their labels, and how URLs are fetched.
type inputFlags struct {
	labels, headers []string
	seconds         int
	allFrames       bool
	ca, cert, key   string
	skipVerify      bool
	db              []string // directories to read instead of inputs
	tenant          string
	asksTenant      bool // tenant is also that of the servers of URLs
	cumulative      string
	note            *countNote // nil for a command that stores nothing
}

// dbFlag adds --db.
func (f *inputFlags) dbFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.db, "db", nil, "ask the directory `DIR` that granary load filled, instead of inputs")
	cli.AddTenant(cmd.Flags(), &f.tenant, "ask for profiles of the tenant `NAME`, in --db and at the servers of URLs")
	f.asksTenant = true
}

// storeFlags adds the flags of inputs, for a command that stores them.
func (f *inputFlags) storeFlags(cmd *cobra.Command) {
	f.cumulative, f.note = countGrowth, new(countNote)
	cmd.Flags().Var(cli.NewChoice("cumulative", []string{countGrowth, countWhole, countSum}, &f.cumulative), "cumulative",
		"count profiles since the start of their process `HOW`: growth since the one before, whole (likewise, but the first as a whole) or sum (granary load --help)")
	f.flags(cmd)
}

// flags adds the flags of inputs.
func (f *inputFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.labels, "label", nil, "add the label `NAME=VALUE` to all inputs; may be repeated. It replaces the label of a folder")
	flags.Var(cli.NewWholeNumber("seconds", 1, &f.seconds), "seconds", "let the servers of URLs measure for `N` seconds")
	flags.Lookup("seconds").DefValue = "0" // hides it
	flags.BoolVar(&f.allFrames, "all-frames", false, "keep the frames that match the pattern drop_frames of their profile, as -all_frames of go tool pprof")
	flags.StringArrayVar(&f.headers, "header", nil, "send the header `'NAME: VALUE'` to the servers of URLs; may be repeated")
	flags.StringVar(&f.ca, "tls-ca", "", "trust the servers of https URLs whose certificates are signed by those in the PEM `FILE`, and no others")
	flags.StringVar(&f.cert, "tls-cert", "", "the client certificate for https URLs, as a PEM `FILE`; needs --tls-key")
	flags.StringVar(&f.key, "tls-key", "", "the private key of --tls-cert, as a PEM `FILE`")
	flags.BoolVar(&f.skipVerify, "tls-skip-verify", false, "do not verify the servers of https URLs")
}

// inputSource is the parsed form of the flags of inputs.
type inputSource struct {
	labels    map[string]string
	web       input.Web
	allFrames bool
	db        string // the directory to read instead of inputs, or ""
	tenant    string // of the directory; "": profile.Anonymous
	history   string // the name of a trace's history, or ""

	withStates bool // the states of Go execution traces are read too

	cumulative string
	note       *countNote
}

// source parses the flags. Its errors are usage errors, except errors from files.
func (f *inputFlags) source() (inputSource, error) {
	s := inputSource{labels: map[string]string{}, tenant: f.tenant, allFrames: f.allFrames, cumulative: f.cumulative, note: f.note, web: input.Web{Seconds: f.seconds, Header: http.Header{}}}
	for _, text := range f.labels {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" || !utf8.ValidString(text) {
			return s, cli.Usage(fmt.Errorf("--label %q: want NAME=VALUE, such as job=api", text))
		}
		if name == labelFile {
			return s, cli.Usage(fmt.Errorf("--label %q: the label file is the name of the input", text))
		}
		if _, twice := s.labels[name]; twice {
			return s, cli.Usage(fmt.Errorf("--label %s is there twice: an input has one value of a label", cli.Printable(name)))
		}
		s.labels[name] = value
	}
	for _, text := range f.headers {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n") {
			return s, cli.Usage(errors.New("--header: want 'NAME: VALUE', such as 'Authorization: Bearer TOKEN'")) // the value can be a secret
		}
		s.web.Header.Add(name, strings.TrimSpace(value))
	}
	if f.asksTenant && f.tenant != "" {
		s.web.Header.Set(serve.TenantHeader, f.tenant)
	}
	if len(f.db) > 0 {
		if s.db = f.db[0]; s.db == "" {
			return s, dbdir.ErrNoName
		}
	}
	var err error
	s.web.Client, err = f.client()
	return s, err
}

// client returns the client for the TLS flags, or nil if none is set.
func (f *inputFlags) client() (*http.Client, error) {
	if (f.cert == "") != (f.key == "") {
		return nil, cli.Usage(errors.New("--tls-cert and --tls-key: one needs the other"))
	}
	if f.ca == "" && f.cert == "" && !f.skipVerify {
		return nil, nil
	}
	config := &tls.Config{InsecureSkipVerify: f.skipVerify}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-ca %s: there is no certificate in PEM form", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", f.cert, f.key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}, nil
}

// newPush returns the command push.
func newPush() *cobra.Command {
	var f inputFlags
	cmd := serve.NewPush(inputsHelp, func() (serve.Inputs, error) {
		s, err := f.source()
		return serve.Inputs{Labels: s.labels, Web: s.web, Note: noteFetch}, err
	})
	cmd.Args = someInputs
	f.flags(cmd)
	return cmd
}
