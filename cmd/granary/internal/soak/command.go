package soak

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// NewCommand returns the command soak.
func NewCommand() *cobra.Command {
	o := options{seed: 1, lasts: 10 * time.Minute, pause: 15 * time.Second, memory: 512 << 20}
	var report string
	cmd := &cobra.Command{
		Use:   "soak --db DIR [flags]",
		Short: "Load a server, kill it meanwhile, and see that it lost nothing",
		Long: `soak starts 'granary serve' on the directory DIR and loads it: it pushes
profiles by four protocols, asks questions, asks what takes long, sends bombs,
and does not read answers. Meanwhile it kills, ends and stops the server, and
starts it again. It compares the sums of the values with what was acknowledged,
and fails if a value is lost or doubled, an answer is an internal error, the
server has more memory than --memory-total and 15 %, or does not end when it is
told to.

DIR.soak.json is the ledger: a later run goes on with the directory, with
another --seed. --report writes memory, files, goroutines and times of answers
over time as one picture.

It is for the developers of Granary, and for a check of a machine before it gets
a server. A minute has about two thousand pushes and as many questions.`,
		Example: `  granary soak --db /tmp/soak --for 30s --report soak.svg
  granary soak --db /tmp/soak --for 12h --seed 2 --report soak.svg
  granary soak --db /tmp/soak --for 1h --seed 3 --other ./granary-0.9`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if stopSignal == 0 {
				return errors.New("soak stops and ends processes with the signals of Unix, which this system lacks")
			}
			if o.dir == "" {
				return cli.Usage(errors.New("--db DIR is missing: a new directory, or one of an earlier soak"))
			}
			if o.program == "" {
				if o.program, err = os.Executable(); err != nil {
					return err
				}
			}
			o.say, o.log = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "granary: "+text) }, io.Discard
			return o.soak(cmd, report)
		},
	}
	cmd.Flags().StringVar(&o.dir, "db", "", "the server's directory `DIR`")
	cmd.Flags().Var(cli.NewDuration("for", time.Second, 0, &o.lasts), "for", "load it for `DURATION`, such as 30s or 12h")
	cmd.Flags().Uint64Var(&o.seed, "seed", o.seed, "`NUMBER` from which all choices follow")
	cmd.Flags().Var(cli.NewBytes("memory-total", 64<<20, &o.memory), "memory-total", "`BYTES` of memory for the server")
	cmd.Flags().StringVar(&report, "report", "", "write a picture of the run to the file `SVG`")
	cmd.Flags().StringSliceVar(&o.others, "other", nil, "`PROGRAM` of another version that half of the restarts start")
	return cmd
}

// soak runs, prints what it did, and returns an error for violations.
func (o *options) soak(cmd *cobra.Command, report string) error {
	s, err := o.run(cmd.Context())
	if err != nil {
		return err
	}
	if report != "" {
		if err := s.writeReport(report); err != nil {
			return err
		}
	}
	r := s.ledger.Runs[len(s.ledger.Runs)-1]
	p := cli.Printer{W: cmd.OutOrStdout()}
	p.Printf("Seed %d, %s: %s, %s, %s of sums, %s, at most %s\n", r.Seed, time.Duration(r.Seconds)*time.Second, cli.Many(r.Kills, "kill"), cli.Many(r.Ends, "end"),
		cli.Many(r.Checks, "check"), cli.Many(r.Answers, "answer"), cli.Size(r.MaxRSS))
	for _, way := range ways {
		a := s.ledger.of(way.name)
		p.Printf("%-7s %s, %s refused, %s ns acknowledged, %s ns without an answer\n", way.name, cli.Many(a.Pushes, "profile"), cli.Number(a.Refused), cli.Number(a.Acknowledged), cli.Number(a.Perhaps))
	}
	if n := len(s.watch.failures); n > 0 {
		return fmt.Errorf("%s, the first: %s", cli.Many(n, "violation"), s.watch.failures[0])
	}
	return p.Err
}
