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

// wholeNumber is the value of a flag for a whole number with a minimum.
type wholeNumber struct {
	flag  string
	least int
	n     *int
	set   *bool
}

// NewWholeNumber returns the value of a flag that sets n to a whole number, at least `least`.
func NewWholeNumber(flag string, least int, n *int) pflag.Value {
	return &wholeNumber{flag: flag, least: least, n: n, set: new(bool)}
}

// String returns the number.
func (w *wholeNumber) String() string {
	if w.n == nil {
		return "0"
	}
	return strconv.Itoa(*w.n)
}

// Set parses a number.
func (w *wholeNumber) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err == nil && n >= w.least {
		*w.n, *w.set = n, true
		return nil
	}
	given, least := strconv.Quote(text), "0 (all)"
	if err == nil {
		given = text
	}
	if w.least > 0 {
		least = strconv.Itoa(w.least)
	}
	return Usage(fmt.Errorf("--%s %s: want a whole number, %s or more", w.flag, given, least))
}

// Type returns the name of the value's type.
func (w *wholeNumber) Type() string { return "int" }

// Limit is the value of the flag -n: the number of lines to show, for a command that prints a table.
type Limit struct {
	n   int
	set bool
}

// Flags adds -n with the default n. old is a former name that still works; "" means that there is none.
func (l *Limit) Flags(cmd *cobra.Command, old string, n int, usage string) {
	l.n = n
	add := func(name, short string) {
		cmd.Flags().VarP(&wholeNumber{flag: name, n: &l.n, set: &l.set}, name, short, usage+"; 0 shows all (default with --json: all)")
	}
	add("limit", "n")
	if old != "" {
		add(old, "")
		cmd.Flags().Lookup(old).Hidden = true
	}
}

// Of returns the number of lines to show; 0 means all. With asJSON it returns 0 unless -n is given.
func (l *Limit) Of(asJSON bool) int {
	if asJSON && !l.set {
		return 0
	}
	return l.n
}

// choice is the value of a flag that accepts a fixed set of words.
type choice struct {
	flag string
	of   []string
	to   *string
}

// NewChoice returns the value of a flag that sets *to to a word in `of`.
func NewChoice(flag string, of []string, to *string) pflag.Value { return &choice{flag, of, to} }

// String returns the word.
func (c *choice) String() string {
	if c.to == nil {
		return ""
	}
	return *c.to
}

// Set accepts a word of the set.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		last := len(c.of) - 1
		return Usage(fmt.Errorf("--%s %q: want %s or %s", c.flag, text, strings.Join(c.of[:last], ", "), c.of[last]))
	}
	*c.to = text
	return nil
}

// Type returns the name of the value's type.
func (c *choice) Type() string { return "string" }

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
