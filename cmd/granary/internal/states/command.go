package states

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
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

// pathText formats a path for trace.ParsePath and for patterns.
func pathText(path []string) string { return history.PathText(path) }

// matchFlag adds --match.
func matchFlag(cmd *cobra.Command, patterns *[]string) {
	cmd.Flags().StringArrayVar(patterns, "match", nil, "only attributes that match `PATTERN`, such as 'Threads/*'; may be repeated (default: all)")
}

// match returns the attributes that match the patterns, each once. The attributes of a pattern
// are in the order of their names, and patterns are in the order given. Without patterns match
// returns all attributes, parents before children.
func match(names history.Names, patterns []string) ([]history.Attribute, error) {
	found := []history.Attribute{} // nil would be all
	if len(patterns) == 0 {
		for a := range names.Descendants(history.Top) {
			found = append(found, a)
		}
		return sortByName(names, found), nil
	}
	known := map[history.Attribute]bool{history.Top: true} // the root is not an attribute, but a pattern can match it
	for _, text := range patterns {
		steps, err := trace.ParsePattern(text)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--match %w", err))
		}
		matched, err := names.Match(steps...)
		if err != nil {
			return nil, err
		}
		hit := false
		for _, a := range sortByName(names, matched) {
			hit = hit || a != history.Top
			if !known[a] {
				known[a] = true
				found = append(found, a)
			}
		}
		if !hit {
			return nil, cli.Usage(fmt.Errorf("--match %q matches no attribute%s", text, topText(names, history.Top, nil)))
		}
	}
	return found, nil
}

// sortByName sorts attributes in depth-first order, siblings by name, and returns them.
func sortByName(names history.Names, attributes []history.Attribute) []history.Attribute {
	place := make([]int, names.Len()+1) // of the attribute before, as the first is the top
	next := 0
	ahead := []history.Attribute{history.Top}
	for len(ahead) > 0 {
		a := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		place[a-history.Top] = next
		next++
		type child struct {
			attribute history.Attribute
			name      string
		}
		var children []child
		for c := range names.Children(a) {
			name, _ := names.Name(c) // c exists
			children = append(children, child{c, name})
		}
		slices.SortFunc(children, func(a, b child) int { return compareNames(b.name, a.name) })
		for _, c := range children { // in reverse: the last one pushed is visited first
			ahead = append(ahead, c.attribute)
		}
	}
	slices.SortFunc(attributes, func(a, b history.Attribute) int { return cmp.Compare(place[a-history.Top], place[b-history.Top]) })
	return attributes
}

// compareNames compares two names with their numbers in numeric order: 9 is before 10, and
// cpu9 before cpu10. Only equal names compare as equal.
func compareNames(a, b string) int {
	wholeA, wholeB := a, b
	for a != "" && b != "" {
		digitsA, digitsB := digits(a), digits(b)
		if digitsA == 0 || digitsB == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		numberA, numberB := strings.TrimLeft(a[:digitsA], "0"), strings.TrimLeft(b[:digitsB], "0")
		if c := cmp.Or(cmp.Compare(len(numberA), len(numberB)), cmp.Compare(numberA, numberB)); c != 0 {
			return c
		}
		a, b = a[digitsA:], b[digitsB:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(wholeA, wholeB))
}

// digits returns the number of leading digits of a text.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// lookup returns the attribute of a path from the command line.
func lookup(names history.Names, text string) (history.Attribute, error) {
	path, err := trace.ParsePath(text, trace.PathSeparator)
	if err != nil {
		return 0, cli.Usage(err)
	}
	at := history.Top
	for i, name := range path {
		next, err := names.LookupFrom(at, name)
		if err != nil {
			return 0, cli.Usage(fmt.Errorf("there is no attribute %q%s%s", text, topText(names, at, path[:i]), patternText(text)))
		}
		at = next
	}
	return at, nil
}

// patternText names the commands that take a pattern, for the error of a path that does not exist,
// if the path is a pattern.
func patternText(text string) string {
	steps, err := trace.ParsePattern(text)
	isPattern := func(s history.Step) bool { return s == history.Any || s == history.Up }
	if err == nil && !slices.ContainsFunc(steps, isPattern) {
		return ""
	}
	return "; patterns are for slice, sample and plot, with --match"
}

// topText lists some children of an attribute, for the error of a path that does not exist.
func topText(names history.Names, parent history.Attribute, path []string) string {
	const most = 8
	var children []string
	all := 0
	for c := range names.Children(parent) {
		if all++; all <= most {
			name, _ := names.Name(c) // c exists
			children = append(children, pathText([]string{name}))
		}
	}
	where := "at the top"
	if len(path) > 0 {
		where = "in " + pathText(path)
	}
	switch {
	case all == 0:
		return fmt.Sprintf(": %s there is none", where)
	case all > most:
		return fmt.Sprintf("; %s there are %s and %s", where, strings.Join(children, ", "), cli.Many(all-most, "other"))
	}
	return fmt.Sprintf("; %s there is: %s", where, strings.Join(children, ", "))
}
