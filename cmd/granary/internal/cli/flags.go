package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/granarydb/granary/columnstore"
)

// NewWholeNumber returns the value of a flag that sets n to a whole number, at least `least`.
func NewWholeNumber(flag string, least int, n *int) pflag.Value {
	return value[int]{n, "int", strconv.Itoa, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err == nil && n >= least {
			return n, nil
		}
		given, want := strconv.Quote(text), "0 (all)"
		if err == nil {
			given = text
		}
		if least > 0 {
			want = strconv.Itoa(least)
		}
		return 0, Usage(fmt.Errorf("--%s %s: want a whole number, %s or more", flag, given, want))
	}}
}

// Limit is the value of the flag -n: the number of lines to show, for a command that prints a table.
type Limit struct {
	n     int
	flags []*pflag.Flag // under all names
}

// Flags adds -n with the default n. old is a former name that still works; "" means that there is none.
func (l *Limit) Flags(cmd *cobra.Command, old string, n int, usage string) {
	l.n = n
	add := func(name, short string) {
		of := NewWholeNumber(name, 0, &l.n)
		l.flags = append(l.flags, cmd.Flags().VarPF(of, name, short, usage+"; 0 shows all (default with --json: all)"))
	}
	add("limit", "n")
	if old != "" {
		add(old, "")
		l.flags[1].Hidden = true
	}
}

// Of returns the number of lines to show; 0 means all. With asJSON it returns 0 unless -n is given.
func (l *Limit) Of(asJSON bool) int {
	if asJSON && !slices.ContainsFunc(l.flags, func(f *pflag.Flag) bool { return f.Changed }) {
		return 0
	}
	return l.n
}

// NewChoice returns the value of a flag that sets *to to a word in `of`.
func NewChoice(flag string, of []string, to *string) pflag.Value {
	same := func(word string) string { return word }
	return value[string]{to, "string", same, func(text string) (string, error) {
		if !slices.Contains(of, text) {
			last := len(of) - 1
			return "", Usage(fmt.Errorf("--%s %q: want %s or %s", flag, text, strings.Join(of[:last], ", "), of[last]))
		}
		return text, nil
	}}
}

var arrowForms = []columnstore.Form{columnstore.Dictionary, columnstore.Native, columnstore.Plain}

// ArrowFormNames returns the values of --form.
func ArrowFormNames() []string {
	var names []string
	for _, form := range arrowForms {
		names = append(names, form.String())
	}
	return names
}

// ArrowForm returns the form for a value of --form. It panics on other values.
func ArrowForm(name string) columnstore.Form { return arrowForms[slices.Index(ArrowFormNames(), name)] }
