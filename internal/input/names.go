package input

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names yields the names of the profiles that an argument stands for, each one that
// [Read] takes, or an error that names what cannot be looked at; others may follow it. It
// yields something: a directory without profiles is an error. A file need not look like a
// profile if it is named itself. Files are looked at, not opened.
func Names(arg string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if isURL(arg) || arg == "-" {
			yield(arg, nil)
			return
		}
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			yield(arg, err)
			return
		}
		directory(arg, yield)
	}
}

// directory yields what looks like a profile in a directory and below it.
func directory(arg string, yield func(string, error) bool) {
	root := arg
	if link, err := os.Lstat(arg); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		root += string(filepath.Separator) // what it leads to, by the name that was given
	}
	found := false
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && (!looksLikeProfile(name) || !isFile(name, d)) {
			return nil
		}
		found = true
		if !yield(name, err) {
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		yield(arg, err)
	} else if !found {
		yield(arg, fmt.Errorf("%s: no profiles in this directory", arg))
	}
}

// isFile says whether an entry is a file, or a link that leads to one or to
// nothing: what cannot be read is better told than passed over.
func isFile(name string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(name)
	return err != nil || info.Mode().IsRegular()
}

// Is says whether an argument names an input that is there: a file, a directory, a URL or
// -. A URL is not fetched.
func Is(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil || isURL(arg) || arg == "-"
}

func isURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

func looksLikeProfile(name string) bool {
	return slices.Contains([]string{".gz", ".pb", ".pprof", ".prof"}, strings.ToLower(filepath.Ext(name)))
}
