package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/compat/iceberg"
)

// deleter is the command delete with its flags' values.
type deleter struct {
	config   *iceberg.Config
	from, to string
	expire   bool
	opts     iceberg.DeleteOptions
	now      func() time.Time
}

func newDelete(c *iceberg.Config) *cobra.Command {
	d := &deleter{config: c, now: time.Now}
	cmd := &cobra.Command{
		Use: "delete", Short: "Delete the rows with a label, or of a range of time, and prove it",
		Long: `delete writes the files of the table that have such rows again without them, and drops
files that have no others. It deletes the symbols that no other rows need. Older
snapshots have the rows still: --expire forgets all snapshots but the newest, and
removes the files that no other has. Queries of older snapshots fail from then on.

It prints what was rewritten, and how many such rows the table has afterwards, which
it counts. It fails if there are any, or with --expire if one of the files is there.

Rows that a node has not sealed yet come into the table later. Delete there first,
with POST /delete of each node (granary serve --allow-delete), which the output spells
out; then here; then here again an hour later, for a unit that was under way.

The table has the rows of the tenant anonymous alone, so there is no --tenant: rows of
others are in the directories of the nodes (granary delete --tenant).`,
		Example: `  granary-lake delete --catalog sqlite:lake.db --label user=17 --expire
  granary-lake delete --catalog sqlite:lake.db --label job=api --from -7d --to -6d`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringToStringVar(&d.opts.Labels, "label", nil, "delete rows with this label of their profile, `NAME=VALUE`; repeated: rows with all of them")
	f.StringVar(&d.from, "from", "", "the `TIME` of the first rows: RFC 3339, a date (local), Unix seconds, or a duration before now such as -24h or -7d")
	f.StringVar(&d.to, "to", "", "the `TIME` that rows are before")
	f.BoolVar(&d.expire, "expire", false, "also forget the snapshots that have the rows, and remove their files")
	return cmd
}

func (d *deleter) run(ctx context.Context, out, notes io.Writer) error {
	var err error
	d.opts.From, d.opts.To = math.MinInt64, math.MaxInt64
	if d.from != "" {
		if d.opts.From, err = parseTime("--from", d.from, d.now()); err != nil {
			return err
		}
	}
	if d.to != "" {
		if d.opts.To, err = parseTime("--to", d.to, d.now()); err != nil {
			return err
		}
	}
	switch {
	case len(d.opts.Labels) == 0 && d.from == "" && d.to == "":
		return fmt.Errorf("%w: delete needs --label, --from or --to", errUsage)
	case d.opts.From >= d.opts.To:
		return fmt.Errorf("%w: --from %s is not before --to", errUsage, d.from)
	}
	return with(ctx, d.config, func(l *iceberg.Lake) error { return d.delete(ctx, l, out, notes) })
}

// delete deletes the rows, and prints the proof.
func (d *deleter) delete(ctx context.Context, l *iceberg.Lake, out, notes io.Writer) error {
	d.opts.Progress = func(r iceberg.Rewrite) { fmt.Fprintln(notes, rewriteText(r)) }
	var done []iceberg.Rewrite
	failed := limited(func() (err error) {
		done, err = l.Delete(ctx, d.opts)
		return err
	})
	for _, line := range proof(done) {
		fmt.Fprintln(out, line)
	}
	if d.expire && failed == nil {
		failed = d.expireAll(ctx, l, done, out)
	}
	remains, err := l.Remaining(ctx, d.opts, d.expire)
	failed = errors.Join(failed, err)
	rows := int64(0)
	for _, r := range remains {
		rows += r.Rows
		kept := ""
		if len(r.Refs) > 0 {
			kept = ", which is kept by " + strings.Join(r.Refs, ", ")
		}
		fmt.Fprintf(out, "remaining: %s rows in snapshot %d%s\n", thousands(r.Rows), r.Snapshot, kept)
	}
	if err == nil && rows == 0 {
		of := "the newest snapshot"
		if d.expire {
			of = "any snapshot"
		}
		fmt.Fprintf(out, "counted: no such row in %s\n", of)
	}
	if rows > 0 && failed == nil {
		failed = errors.New("such rows are in the table still: delete again, or drop the tag or branch that keeps them")
	}
	return errors.Join(failed, d.advise(ctx, l, out))
}

// proof are the lines about what was rewritten.
func proof(done []iceberg.Rewrite) []string {
	deleted := map[string]int64{}
	var lines []string
	for _, r := range done {
		deleted[r.Table] += r.Deleted
		for _, f := range r.Files {
			lines = append(lines, "replaced: "+f)
		}
		for _, f := range r.New {
			lines = append(lines, "by: "+f)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(deleted)) {
		lines = append(lines, fmt.Sprintf("deleted: %s rows of %s", thousands(deleted[table]), table))
	}
	if len(done) == 0 {
		lines = append(lines, "deleted: no row")
	}
	return lines
}

// expireAll forgets all snapshots but the newest, and looks for the files that were replaced.
func (d *deleter) expireAll(ctx context.Context, l *iceberg.Lake, done []iceberg.Rewrite, out io.Writer) error {
	gone, err := l.Expire(ctx, iceberg.ExpireOptions{Keep: 1})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "expired: %d snapshots\n", gone)
	var files []string
	for _, r := range done {
		files = append(files, r.Files...)
	}
	exist, err := l.Existing(ctx, files)
	for _, f := range exist {
		fmt.Fprintln(out, "still there:", f)
	}
	fmt.Fprintf(out, "removed: %d of the %d files that were replaced\n", len(files)-len(exist), len(files))
	if err == nil && len(exist) > 0 {
		err = fmt.Errorf("%d files with such rows are there still", len(exist))
	}
	return err
}

// advise says what this command does not delete.
func (d *deleter) advise(ctx context.Context, l *iceberg.Lake, out io.Writer) error {
	nodes, _, err := l.Nodes(ctx)
	if err != nil {
		return err
	}
	ask := d.nodeQuery()
	for _, n := range nodes {
		if n.Address == "" {
			fmt.Fprintf(out, "not deleted: rows that node %s has and the table lacks; it has no address: granary delete --db DIR%s\n", n.ID, d.nodeFlags())
			continue
		}
		fmt.Fprintf(out, "not deleted: rows that node %s has and the table lacks: curl -X POST -G%s %s/delete\n", n.ID, ask, strings.TrimSuffix(n.Address, "/"))
	}
	fmt.Fprintln(out, "not deleted: files of attempts that lost or died, until granary-lake expire --orphans 1h")
	return nil
}

// selector returns the labels as a selector.
func (d *deleter) selector() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(d.opts.Labels)) {
		text := name
		if !plainName.MatchString(name) {
			text = strconv.Quote(name)
		}
		parts = append(parts, text+"="+strconv.Quote(d.opts.Labels[name]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// plainName matches names that a selector has without quotes.
var plainName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// nodeQuery returns the parameters of POST /delete, for curl.
func (d *deleter) nodeQuery() string {
	return " --data-urlencode " + quoted("selector="+d.selector()) + d.times(" -d ", "=")
}

// nodeFlags returns the flags of granary delete.
func (d *deleter) nodeFlags() string {
	return " --selector " + quoted(d.selector()) + d.times(" --", " ")
}

// times returns the bounds of time that were given, with texts before the name and the value of each.
func (d *deleter) times(name, value string) (text string) {
	if d.from != "" {
		text = name + "from" + value + time.Unix(0, d.opts.From).UTC().Format(time.RFC3339Nano)
	}
	if d.to != "" {
		text += name + "to" + value + time.Unix(0, d.opts.To).UTC().Format(time.RFC3339Nano)
	}
	return text
}

// quoted returns text as a word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
