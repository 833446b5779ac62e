package dirs

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/repair"
	"github.com/granarydb/granary/profile"
)

// diagnosis is what doctor finds. Its JSON field names are stable.
type diagnosis struct {
	Of    string    `json:"of"`    // directory or URL
	Facts []string  `json:"facts"` // for people
	Finds []finding `json:"findings"`
}

// finding is something that is wrong, or that its owner should know.
type finding struct {
	Wrong  bool   `json:"wrong"` // false: it may be as it should be
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

func (d *diagnosis) fact(format string, args ...any) {
	d.Facts = append(d.Facts, fmt.Sprintf(format, args...))
}

func (d *diagnosis) wrong(what, remedy string) {
	d.Finds = append(d.Finds, finding{true, what, remedy})
}

func (d *diagnosis) note(what, remedy string) {
	d.Finds = append(d.Finds, finding{false, what, remedy})
}

// err returns an error if something is wrong.
func (d *diagnosis) err() error {
	n := 0
	for _, f := range d.Finds {
		if f.Wrong {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s wrong", d.Of, map[bool]string{true: "something is", false: cli.Number(n) + " things are"}[n == 1])
}

func (d *diagnosis) print(p *cli.Printer) {
	for _, fact := range d.Facts {
		p.Printf("%s\n", fact)
	}
	for _, f := range d.Finds {
		p.Printf("%s %s\n", map[bool]string{true: "wrong:", false: "note: "}[f.Wrong], cli.Printable(f.What))
		if f.Remedy != "" {
			p.Printf("       %s\n", f.Remedy)
		}
	}
	if d.err() == nil {
		p.Printf("Nothing is wrong\n")
	}
}

// NewDoctor returns the command doctor.
func NewDoctor() *cobra.Command {
	var dir, tokenFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor {--db DIR | URL}",
		Short: "Say what is wrong with a directory or a server",
		Long: `doctor looks at a directory of profiles, or at a server that 'granary serve'
runs, and prints what is there, what is wrong and what to do about it.

Of a directory it reads all bytes, as 'granary verify' does, and the space that
the disk has left; no process may have it open to write. A server is asked for
/readyz and /metrics, whose counts are since its start.

If something is wrong it exits with 1. Notes are what an owner should know.`,
		Example: `  granary doctor --db /var/lib/granary
  granary doctor localhost:4040
  granary doctor --token-file read.txt https://profiles.example.com`,
		Args: func(_ *cobra.Command, args []string) error {
			if (dir == "") != (len(args) == 1) {
				return cli.Usage(errors.New("name a directory by --db DIR, or the URL of a server"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			d := &diagnosis{Of: "--db " + dir, Facts: []string{}, Finds: []finding{}}
			if dir != "" {
				err = d.directory(cmd, dir, time.Now())
			} else {
				d.Of = args[0]
				err = d.server(cmd, args[0], tokenFile)
			}
			if err == nil {
				err = cli.PrintAnswer(cmd.OutOrStdout(), asJSON, d, d.print)
			}
			return cmp.Or(err, d.err())
		},
	}
	cmd.Flags().StringVar(&dir, "db", "", "look at the directory `DIR` that granary load made")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "a `FILE` with a token to ask the server with, which is bound to no tenant")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// leastFree is the free space of a disk below which a directory is in danger: some segments of the log and a file.
const leastFree = 512 << 20

// directory looks at a directory.
func (d *diagnosis) directory(cmd *cobra.Command, dir string, now time.Time) error {
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "reading")
	report, err := repair.Verify(cmd.Context(), disk.System(dir), bar.Show)
	bar.End()
	if err != nil {
		return explain(dir, err)
	}
	for _, damage := range report.Damages {
		d.wrong(fmt.Sprintf("%s is damaged: %s", damage.File, damage.Reason), "granary repair tells the cost, and a backup has more")
	}
	if n := len(report.Aside); n > 0 {
		d.note(fmt.Sprintf("%s of earlier repairs, whose rows are missing: *%s", cli.Many(n, "file"), repair.Suffix), "remove them when nobody needs them")
	}
	if free, err := disk.System(dir).Free(); err == nil && free < leastFree {
		d.wrong(fmt.Sprintf("the disk has %s left", cli.Size(free)), "make room: writing ends when it is full. granary serve --disk bounds a directory")
	}
	if !report.IsWhole() {
		return nil // it may not open
	}
	store, err := dbdir.Open(dir, "profiles", "granary load", columnstore.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // nothing was written
	stats := store.Stats()
	d.fact("%s in files, %s of log, %s", cli.Size(stats.FileBytes), cli.Size(stats.LogBytes), cli.Many(stats.Rows, "row"))
	for _, tenant := range profile.Tenants(store, "") {
		own := store.Table(profile.TenantName(tenant, profile.DefaultTable)).Stats()
		d.fact("tenant %s: %s, %s, %s of rows in files, from %s on", tenant, cli.Many(own.Rows, "row"), cli.Number(own.Series)+" series", cli.Size(own.FileBytes), timeOf(own.Oldest))
	}
	if names := historyNames(store); len(names) > 0 {
		d.fact("histories: %s", strings.Join(names, ", "))
	}
	if stats.LogBytes > 1<<30 {
		d.note(fmt.Sprintf("the log has %s, which each opening reads", cli.Size(stats.LogBytes)), "a program that closes its store files the log")
	}
	if !stats.Oldest.IsZero() && stats.Oldest.After(now) {
		d.note("all rows are of the future", "look at the clocks of the senders")
	}
	return nil
}

func historyNames(store *columnstore.Store) (names []string) {
	for _, h := range store.Histories() {
		names = append(names, cli.Printable(h.Name()))
	}
	return names
}

func timeOf(t time.Time) string {
	if t.IsZero() {
		return "no time"
	}
	return t.UTC().Format(time.RFC3339)
}
