package dirs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/repair"
)

// NewDump returns the command dump.
func NewDump() *cobra.Command {
	var dir string
	var asJSON bool
	var show cli.Limit
	cmd := &cobra.Command{
		Use:   "dump --db DIR [FILE]",
		Short: "List the files of a directory of profiles, or what is in one",
		Long: `dump lists the files of the directory DIR: their tables, times, rows and bytes.
With the name of a file it lists what is in it: the entries of a segment of the
log, as log-000000000003, or the granules of a file of rows. It changes nothing.

A file that is not needed is one that a crash has left, the copy of a manifest,
or the segment of the log that is reserved for the next entries.`,
		Example: `  granary dump --db profiles.db
  granary dump --db profiles.db rows-000000000001
  granary dump --db profiles.db --json | jq '[.files[].bytes] | add'`,
		Args: cli.Arguments(0, 1, "name one file at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list := listDir
			if len(args) == 1 {
				kind, number, _ := disk.ParseName(filepath.Base(args[0]))
				switch kind {
				case disk.LogKind:
					list = listEntries(number)
				case "rows":
					list = listGranules(number)
				default:
					return cli.Usage(fmt.Errorf("%q: want the name of a segment of the log or of a file of rows, as dump without a name lists them", args[0]))
				}
			}
			answer, text, err := list(disk.System(dir))
			if text != nil { // print also the entries before an error
				err = cmp.Or(cli.PrintAnswer(cmd.OutOrStdout(), asJSON, answer, func(p *cli.Printer) { text(p, show.Of(false)) }), err)
			}
			if len(args) == 1 && errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("--db %s: %w", dir, err)
			}
			return explain(dir, err)
		},
	}
	dirFlag(cmd, &dir)
	show.Flags(cmd, "", 50, "show the first `N` files, entries or granules")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, without a limit")
	return cmd
}

// printer prints an answer, with at most `limit` lines of a list; 0 means all.
type printer func(p *cli.Printer, limit int)

// lister returns an answer for JSON, and a function that prints it, or nil if there is no answer.
type lister func(fsys disk.FS) (answer any, text printer, err error)

func listDir(fsys disk.FS) (any, printer, error) {
	l, err := repair.List(fsys)
	if err != nil {
		return nil, nil, err
	}
	return l, func(p *cli.Printer, limit int) {
		p.Printf("Store %s, files up to commit %d, log from segment %d\n", l.Store, l.Commit, l.Segment)
		p.Printf("%-22s %9s %10s %9s  %s\n", "file", "bytes", "rows", "commit", "of")
		shown := cli.First(l.Files, limit)
		for _, f := range shown {
			rows, commit := "", ""
			if f.Kind == "rows" && f.IsNamed {
				rows, commit = cli.Number(f.Rows), fmt.Sprint(f.Through)
			}
			p.Printf("%s\n", strings.TrimRight(fmt.Sprintf("%-22s %9s %10s %9s  %s", f.Name, cli.Size(f.Bytes), rows, commit, subject(&f)), " "))
		}
		p.NotShown(len(l.Files)-len(shown), "file")
	}, nil
}

// subject describes the contents of a file.
func subject(f *repair.ListedFile) string {
	switch {
	case f.Kind == "manifest":
		return "all"
	case !f.IsNamed:
		return "not needed"
	case f.History != "":
		return "history " + cli.Printable(f.History)
	case f.Generation == nil:
		return ""
	}
	text := fmt.Sprintf("%s, generation %d", cli.Printable(f.Table), *f.Generation)
	if f.From != 0 || f.To != 0 {
		text += ", " + timeText(f.From) + " to " + timeText(f.To)
	}
	return text
}

func timeText(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02 15:04:05") }

func listEntries(segment uint64) lister {
	return func(fsys disk.FS) (any, printer, error) {
		entries, err := repair.ListEntries(fsys, segment)
		if entries == nil {
			return nil, nil, err
		}
		return entries, func(p *cli.Printer, limit int) {
			p.Printf("%9s %9s %9s  %s\n", "commit", "begin", "bytes", "entry")
			shown := cli.First(entries, limit)
			for i := range shown {
				printEntry(p, &shown[i])
			}
			p.NotShown(len(entries)-len(shown), "of the entries")
		}, err
	}
}

func printEntry(p *cli.Printer, e *repair.ListedEntry) {
	commit, begin := "", ""
	if e.Commit > 0 {
		commit, begin = fmt.Sprint(e.Commit), fmt.Sprint(e.Begin)
	}
	texts := []string{e.Kind}
	if e.Table != nil {
		texts[0] += fmt.Sprintf(" %d of table %d, generation %d", e.Number, *e.Table, *e.Generation)
	}
	for _, t := range e.Tables {
		texts = append(texts, fmt.Sprintf("table %d: %s of %s", t.Ordinal, cli.Many(t.Parts, "part"), cli.Size(int64(t.ImageBytes))))
		if t.Notes > 0 {
			texts = append(texts, cli.Many(t.Notes, "note"))
		}
	}
	for _, h := range e.Histories {
		texts = append(texts, fmt.Sprintf("history %d", h))
	}
	p.Printf("%9s %9s %9s  %s\n", commit, begin, cli.Size(int64(e.Bytes)), strings.Join(texts, ", "))
}

func listGranules(file uint64) lister {
	return func(fsys disk.FS) (any, printer, error) {
		granules, err := repair.ListGranules(fsys, file)
		if err != nil {
			return nil, nil, err
		}
		return granules, func(p *cli.Printer, limit int) { printGranules(p, granules, limit) }, nil
	}
}

func printGranules(p *cli.Printer, granules []repair.ListedGranule, limit int) {
	p.Printf("%9s %9s %9s %9s  %s\n", "rows", "begin", "commit", "bytes", "from")
	shown := cli.First(granules, limit)
	for _, g := range shown {
		p.Printf("%9s %9d %9d %9s  %s\n", cli.Number(g.Rows), g.Begin, g.Commit, cli.Size(int64(g.Bytes)), cli.Fit(cli.Printable(strings.Join(g.Lower, " ")), 70))
	}
	p.NotShown(len(granules)-len(shown), "granule")
}
