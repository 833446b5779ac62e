package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// flagError says what is wrong with a flag, without the words that Go has for it.
func flagError(_ *cobra.Command, err error) error {
	if told, ok := errors.AsType[usageError](err); ok {
		return told
	}
	if what, _, ok := strings.Cut(err.Error(), ": strconv.ParseBool"); ok {
		return usageError{errors.New(what + ": want true or false")}
	}
	return usageError{err}
}

// wholeNumber is the value of a flag that counts.
type wholeNumber struct {
	flag  string
	least int
	n     *int
	set   *bool
}

// String, Set and Type make it a flag's value.
func (w *wholeNumber) String() string {
	if w.n == nil {
		return "0"
	}
	return strconv.Itoa(*w.n)
}

// Set takes what was given.
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
	return usageError{fmt.Errorf("--%s %s: want a whole number, %s or more", w.flag, given, least)}
}

// Type names the kind of value.
func (w *wholeNumber) Type() string { return "int" }

// limit is how much to show: -n, which all commands with a table have.
type limit struct {
	n   int
	set bool
}

// flags adds -n; old is a name that it had before and still goes by, if there is one.
func (l *limit) flags(cmd *cobra.Command, old string, n int, usage string) {
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

// of returns how much to show, 0 for all: a script wants all unless it says otherwise.
func (l *limit) of(asJSON bool) int {
	if asJSON && !l.set {
		return 0
	}
	return l.n
}

// stepValue is the value of --step: a duration, in days too.
type stepValue struct{ d *time.Duration }

// String, Set and Type make it a flag's value.
func (s stepValue) String() string {
	if s.d == nil || *s.d == 0 {
		return ""
	}
	return duration(*s.d)
}

// Set takes what was given.
func (s stepValue) Set(text string) error {
	d, ok := parseAgo(text)
	if !ok || d <= 0 {
		return usageError{fmt.Errorf("--step %q: want a duration above 0 and up to 65535d, such as 10s, 5m, 1h or 7d", text)}
	}
	*s.d = d
	return nil
}

// Type names the kind of value.
func (s stepValue) Type() string { return "duration" }
