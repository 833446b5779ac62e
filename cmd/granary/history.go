package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/history"
)

func newHistory() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Ask recorded state histories: which state, when, for how long",
		Long: `history answers questions about interval sets: which state each attribute of a
system (a thread, a CPU, a queue) was in at every instant of a recording.

  granary history import -o run states.csv    make a set of CSV
  granary history info run                    what is in it
  granary history at run CPUs/0 +1.5s         the state of one attribute
  granary history slice run +1.5s             of all at one instant
  granary history range run CPUs/0            of one over time
  granary history sample run --pixels 100     of all, as a picture shows them
  granary history plot run -o run.svg         that picture

` + historyFileHelp + historyAttributeHelp + historyPatternHelp + historyTimeHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(cmd.Help(), usageError{errors.New("a command is missing")})
		},
	}
	cmd.AddCommand(newHistoryImport(), newHistoryInfo(), newHistoryAt(), newHistorySlice(), newHistoryRange(),
		newHistorySample(), newHistoryPlot(), newHistoryHelp())
	return cmd
}

// unknownCommand is the error of a name that none of a command's commands has.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := ""
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		hint = ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageError{fmt.Errorf("unknown command %q%s", name, hint)}
}

// newHistoryHelp makes history help slice what history slice --help is, as granary help is
// for the commands of the program.
func newHistoryHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show what a command about histories does",
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Parent()
			for _, name := range args {
				at := slices.IndexFunc(of.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if at < 0 {
					return unknownCommand(of, name)
				}
				of = of.Commands()[at]
			}
			of.InitDefaultHelpFlag() // it is shown too
			return of.Help()
		},
	}
}

// What the commands about histories say of their arguments.
const (
	historyFileHelp = `A FILE is a set, run.ihs.gz with run.attrs.tsv.gz, named with or without the
suffix; CSV, if its name ends in .csv or .csv.gz, or - for CSV on standard input
(granary history import --help); or synth:ATTRIBUTES:CHANGES, a made one.`

	historyAttributeHelp = `

An ATTRIBUTE is a path of names with / between them: Threads/4297/Exec_name. A
backslash takes the next character for itself: a name with / in it is a\/b.`

	historyPatternHelp = `

A PATTERN is the path of an attribute, names with / between them, in which * is
any name and .. the parent: 'CPUs/*/Current_thread'. What is below is not meant
too. A backslash takes the next character for itself: a\/b is one name, and \*
one of a star. Several patterns: their attributes, one pattern after the other.`

	historyTimeHelp = `

A TIME is 2026-01-31T09:00:00.5Z (RFC 3339), or without the zone (UTC); a plain
number, which is Unix nanoseconds, or Unix seconds if only so it is in the
history or nearer to it (1769850000.5, with a point, is seconds always); so long
behind the start of the history, +1.5s, or before its end, -200ms, also
start+1.5s and end-200ms; or a share of it, 12.5%.`
)

// pathSeparator is between the names of a path.
const pathSeparator = '/'

// pathName is one name of a path as it was written.
type pathName struct {
	name string
	// bare says that no character of it was escaped.
	bare bool
}

// splitPath reads a path of names. A backslash takes the next character for itself.
func splitPath(text string, separator rune) ([]pathName, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%.60q is not UTF-8", text)
	}
	names := []pathName{{bare: true}}
	var name strings.Builder
	escaped := false
	for _, r := range text {
		last := &names[len(names)-1]
		switch {
		case escaped:
			name.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped, last.bare = true, false
		case r == separator:
			last.name = name.String()
			name.Reset()
			names = append(names, pathName{bare: true})
		default:
			name.WriteRune(r)
		}
	}
	if escaped {
		return nil, fmt.Errorf(`%q ends in a backslash: for the character itself write \\`, text)
	}
	names[len(names)-1].name = name.String()
	return names, nil
}

// parsePath reads the path of an attribute.
func parsePath(text string, separator rune) ([]string, error) {
	names, err := splitPath(text, separator)
	path := make([]string, len(names))
	for i, n := range names {
		path[i] = n.name
	}
	return path, err
}

// parsePattern reads a pattern.
func parsePattern(text string) ([]history.Step, error) {
	names, err := splitPath(text, pathSeparator)
	if err != nil {
		return nil, err
	}
	steps := make([]history.Step, len(names))
	for i, n := range names {
		switch {
		case n.bare && n.name == "*":
			steps[i] = history.Any
		case n.bare && n.name == "..":
			steps[i] = history.Up
		case n.bare && strings.Contains(n.name, "*"):
			return nil, fmt.Errorf(`%q: * stands for a whole name; for the character itself write \*`, text)
		default:
			steps[i] = history.Literal(n.name)
		}
	}
	return steps, nil
}

// pathText writes a path so that splitPath reads it, in patterns too.
func pathText(path []string) string { return history.PathText(path) }

// matchFlag adds --match.
func matchFlag(cmd *cobra.Command, patterns *[]string) {
	cmd.Flags().StringArrayVar(patterns, "match", nil, "only attributes that `PATTERN` leads to, such as 'Threads/*'; several times for several (default: all)")
}

// match returns the attributes that patterns lead to, one after the other, each once, in
// the order of their names; all, parents before children, if there are no patterns.
func match(names history.Names, patterns []string) ([]history.Attribute, error) {
	var found []history.Attribute
	if len(patterns) == 0 {
		for a := range names.Descendants(history.Root) {
			found = append(found, a)
		}
		return sortByName(names, found), nil
	}
	known := map[history.Attribute]bool{history.Root: true} // no attribute, though a pattern can lead there
	for _, text := range patterns {
		steps, err := parsePattern(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--match %w", err)}
		}
		matched, err := names.Match(steps...)
		if err != nil {
			return nil, err
		}
		hit := false
		for _, a := range sortByName(names, matched) {
			hit = hit || a != history.Root
			if !known[a] {
				known[a] = true
				found = append(found, a)
			}
		}
		if !hit {
			return nil, usageError{fmt.Errorf("--match %q leads to no attribute%s", text, topText(names, history.Root, nil))}
		}
	}
	return found, nil
}

// sortByName sorts attributes as a tree is read, siblings by their names, and returns them.
func sortByName(names history.Names, attributes []history.Attribute) []history.Attribute {
	place := make(map[history.Attribute]int, names.Len())
	ahead := []history.Attribute{history.Root}
	for len(ahead) > 0 {
		a := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		place[a] = len(place)
		type child struct {
			attribute history.Attribute
			name      string
		}
		var children []child
		for c := range names.Children(a) {
			name, _ := names.Name(c) // it was just found
			children = append(children, child{c, name})
		}
		slices.SortFunc(children, func(a, b child) int { return compareNames(b.name, a.name) })
		for _, c := range children { // the last is the first to be read
			ahead = append(ahead, c.attribute)
		}
	}
	slices.SortFunc(attributes, func(a, b history.Attribute) int { return cmp.Compare(place[a], place[b]) })
	return attributes
}

// compareNames compares two names: 9 is before 10, and cpu9 before cpu10.
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

// digits returns how many digits a text begins with.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// lookup returns the attribute of a path as a person wrote it.
func lookup(names history.Names, text string) (history.Attribute, error) {
	path, err := parsePath(text, pathSeparator)
	if err != nil {
		return 0, usageError{err}
	}
	at := history.Root
	for i, name := range path {
		next, err := names.LookupFrom(at, name)
		if err != nil {
			return 0, usageError{fmt.Errorf("there is no attribute %q%s", text, topText(names, at, path[:i]))}
		}
		at = next
	}
	return at, nil
}

// topText names some of the children of an attribute, to choose from.
func topText(names history.Names, parent history.Attribute, path []string) string {
	const most = 8
	var children []string
	all := 0
	for c := range names.Children(parent) {
		if all++; all <= most {
			name, _ := names.Name(c) // it was just found
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
		return fmt.Sprintf("; %s there are %s and %s", where, strings.Join(children, ", "), many(all-most, "other"))
	}
	return fmt.Sprintf("; %s there is: %s", where, strings.Join(children, ", "))
}
