package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

const kindsHelp = `Profiles of different kinds are not added up or compared: Go's block and mutex
profiles have sample types of equal names. Profiles are of one kind if they list
the same sample types and have the same label __name__. The label comes from
--label or from a folder. Profiles of contentions have it from the word block or
mutex in the name of their file or URL, and profiles of the heap from the word
allocs. diff compares profiles without the label with any others.`

// explainMixed adds the inputs, and a remedy, to the error for profiles of several kinds. It returns
// other errors unchanged.
func explainMixed(err error) error {
	mixed, ok := errors.AsType[*profile.MixedError](err)
	if !ok {
		return err
	}
	var kinds, selectors []string
	for _, k := range mixed.Kinds {
		kinds = append(kinds, cli.Printable(k.String())+inputsOf(k))
		if k.Selector != "" {
			selectors = append(selectors, "--selector "+shellQuoted(k.Selector))
		}
	}
	text := fmt.Sprintf("profiles of %d different kinds: %s; choose ", len(kinds), listed(kinds, "; "))
	if mixed.Periods {
		return errors.New(text + "one type with --sample-index, or one kind with --selector")
	}
	if selectors == nil {
		selectors = []string{"--selector"}
	}
	return fmt.Errorf("%s: %sanother type with --sample-index, one kind with %s, or add up their values with --sum-kinds", typeName(mixed.Type), text, listed(selectors, " or "))
}

// kindsOf returns the kinds of a query's profiles that have a type.
func kindsOf(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) ([]profile.ProfileKind, error) {
	kinds, err := db.Kinds(ctx, snap, q)
	return slices.DeleteFunc(kinds, func(k profile.ProfileKind) bool { return !slices.Contains(k.Types, t) }), err
}

// checkSides returns an error that names the inputs if every kind on both sides of a difference has a name,
// and the sides have no name in common. A side without a name can have any kind, because its file may have
// been renamed.
func checkSides(t profile.Type, a, b []profile.ProfileKind) error {
	names := map[string]bool{"": true}
	for _, k := range a {
		names[k.Name] = true
	}
	if len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(k profile.ProfileKind) bool { return k.Name == "" }) ||
		slices.ContainsFunc(b, func(k profile.ProfileKind) bool { return names[k.Name] }) {
		return nil
	}
	side := func(kinds []profile.ProfileKind) string {
		var texts []string
		for _, k := range kinds {
			texts = append(texts, cli.Printable(k.String())+inputsOf(k))
		}
		return listed(texts, "; ")
	}
	return fmt.Errorf("%s: A and B are profiles of different kinds: %s; %s; compare them anyway with --sum-kinds", typeName(t), side(a), side(b))
}

// inputsOf names the first inputs of a kind's profiles: files, or labels for profiles without a file.
func inputsOf(k profile.ProfileKind) string {
	var names []string
	for _, source := range k.Sources {
		isName := func(l profile.Label) bool { return l.Name == profile.NameLabel } // the kind has this label
		if labels := slices.DeleteFunc(slices.Clone(source), isName); len(labels) > 0 {
			names = append(names, sourceName(labels))
		}
	}
	if slices.Sort(names); len(names) == 0 {
		return ""
	}
	return " in " + listed(names, ", ")
}

// listed joins the first texts of a list, and adds the number of the others.
func listed(texts []string, separator string) string {
	const most = 3
	if more := len(texts) - most; more > 0 {
		texts = append(slices.Clone(texts[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, separator)
}

// shellQuoted returns a text as one word for a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
