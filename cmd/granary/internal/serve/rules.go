package serve

import (
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/server"
)

// checkRules returns a usage error for a receiver that cannot be asked.
func (f *flags) checkRules() error {
	if f.remoteWrite == "" {
		if f.files.writeToken != "" {
			return cli.Usage(errors.New("--remote-write-token-file: --remote-write names no receiver"))
		}
		return nil
	}
	if u, err := url.Parse(f.remoteWrite); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return cli.Usage(fmt.Errorf("--remote-write %s: want an http or https URL, such as http://localhost:9090/api/v1/write", cli.Printable(f.remoteWrite)))
	}
	return nil
}

// ruleOptions returns the options of a server with a store.
func (f *flags) ruleOptions(s *secrets) server.RuleOptions {
	return server.RuleOptions{Keep: f.inDir(rulesName), WriteURL: f.remoteWrite, WriteToken: func() string { return *s.writes.Load() }}
}

// setRules replaces the rules of the file. A front has none.
func (f *flags) setRules(handle *server.Server, s *secrets) error {
	if f.isFront() {
		return nil
	}
	if err := handle.SetRules(s.rules); err != nil {
		return fmt.Errorf("--rules %s: %w", f.files.rules, err)
	}
	return nil
}

// readRules reads a file of rules.
func readRules(name string, limits server.Limits) (server.Rules, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return server.Rules{}, err
	}
	rules, err := server.ParseRules(data, limits)
	if err != nil {
		return rules, fmt.Errorf("%s: %w", name, err)
	}
	return rules, nil
}

// NewRules returns the command rules.
func NewRules() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules check FILE...",
		Short: "Check files of rules, which make metrics from profiles",
		Long: `A rule makes a metric from profiles: a sum of values, minute after minute, for
Prometheus to scrape, to draw and to alert on. 'granary serve --rules FILE' has
the rules of a file, in YAML or JSON, and POST /rules those of a tenant:

  interval: 1m                          of all rules; a divisor of an hour
  rules:
  - name: shop_checkout_cpu_seconds_total
    help: CPU time below checkout.
    type: cpu                           a sample type
    selector: '{service_name="shop"}'   all profiles without one
    function: '^main\.checkout'         stacks with such a function; all without
    by: [pod]                           a series for each value of the labels
    tenant: team-a                      in a file; anonymous without one

Values at an instant, such as inuse_space, make a gauge: of each source the mean
of the last interval, and their sum. Others make a counter, whose name ends in
_total. Nanoseconds become seconds. Profiles that come late count, up to a day.`,
		Example: `  granary rules check rules.yml
  granary serve --rules rules.yml \
      --remote-write http://localhost:9090/api/v1/write`,
		RunE: cli.NoCommand,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "check FILE...",
		Short: "Check files of rules",
		Long: `check reads files of rules as 'granary serve --rules' does, and names the first
mistake of each. The exit code is then 1. 'granary rules --help' has the form.`,
		Example: `  granary rules check rules.yml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(errors.New("name at least one FILE of rules"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			failed := 0
			for _, name := range args {
				rules, err := readRules(name, server.Limits{})
				if err != nil {
					failed++
					fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s\n", cli.OneLine(err))
					continue
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", cli.Printable(name), cli.Many(len(rules.Names()), "rule")); err != nil {
					return err
				}
			}
			if failed > 0 {
				return cli.Failed(fmt.Errorf("%s cannot be taken", cli.Many(failed, "file")))
			}
			return nil
		},
	})
	return cmd
}
