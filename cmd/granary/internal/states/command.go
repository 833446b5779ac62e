package states

import (
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// NewCommand returns the command history.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Query recorded state histories: which state, when, for how long",
		Long: `history queries recordings: the state of each attribute of a system (a thread, a
CPU, a queue) at every instant. They are interval sets, CSV, or history files,
which may be larger than memory.

  granary history import -o run states.csv    convert CSV to a set
  granary history import -o run.history run   convert a set to a history file
  granary history verify run.history          are all its bytes as written?
  granary history info run                    the size and attributes of a set
  granary history at run CPUs/0 +1.5s         one attribute at one instant
  granary history slice run +1.5s             all attributes at one instant
  granary history range run CPUs/0            one attribute over time
  granary history sample run --pixels 100     all attributes at 100 instants
  granary history plot run -o run.svg         all attributes as a picture
  granary history load --db run.db run        store a set in a directory

Here run stands for any FILE. synth:1000:100 needs no recording, and 'granary
demo --trace trace.out' makes one.

` + askedHelp + attributeHelp + patternHelp + timeHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       cli.NoCommand,
	}
	cmd.AddCommand(newImport(), newLoad(), newVerify(), newInfo(), newAt(), newSlice(), newRange(),
		newSample(), newPlot(), cli.NewHelp("Show the help of a history command"))
	return cmd
}

// Sections that the helps of the history commands share.
const (
	fileHelp = `FILE is one of:
  run                        the set run.ihs.gz with run.attrs.tsv.gz; either
                             suffix may be added
  run.history                a history file, whatever its name ends in: it is
                             read as far as the question needs it, and at most
                             256 MiB of it are in memory. It is whole, a part
                             (import --partial), or several (import --join)
  run.csv or run.csv.gz      CSV (see granary history import --help)
  -                          CSV on standard input
  trace.out                  a Go execution trace, of Go 1.22 or later
  synth:ATTRIBUTES:CHANGES   a synthetic history`

	// askedHelp is fileHelp for commands with --db.
	askedHelp = fileHelp + `

With --db DIR, FILE is the name of a history that 'granary history load' stored.`

	attributeHelp = `

ATTRIBUTE is a path of names separated by /: Threads/4297/Exec_name. A backslash
escapes the next character: a\/b is one name with a slash.`

	patternHelp = `

PATTERN is a path of names separated by /, in which * matches any name and .. is
the parent: 'CPUs/*/Current_thread'. It does not match the attributes below. A
backslash escapes the next character: a\/b is one name with a slash, \* is a
name of one star. Several patterns select the attributes of each, in the order
of the patterns.`

	timeHelp = `

TIME is one of:
  +1.5s or start+1.5s      after the start of the history
  end-200ms                before its end; latest-200ms is the same
  12.5%                    a share of its duration
  2026-01-31T09:00:00.5Z   RFC 3339; a date, or a date and time, without a zone
                           is local
  1769850000.5             Unix time of 10 digits in seconds; 13 are in
                           milliseconds, 16 in microseconds, 19 in nanoseconds
  -1h, 1h or now-1h        before now; units ns, us, ms, s, m, h, d and w
  12345.678 or 12345678    other numbers count seconds with a point, or
                           nanoseconds, since 1970`
)
