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

// Names yields the names of an argument's profiles, each a valid argument of [Read]. The name of host:port,
// if there is no such file, is a URL; a server's name is the URL of its CPU profile.
//
// Inaccessible entries are errors that name them; others may follow. It yields at least one element: a
// directory without profiles is an error, which describes its contents. If arg names a file, it may have
// any suffix. A file in a directory is a profile by its suffix, or by its first bytes.
func Names(arg string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if arg == "-" {
			yield(arg, nil)
			return
		}
		info, err := os.Stat(arg)
		if err != nil {
			if address := addressOf(arg); address != "" {
				yield(address, nil)
				return
			}
		}
		if err != nil || !info.IsDir() {
			yield(arg, err)
			return
		}
		directory(arg, yield)
	}
}

// directory yields the files in and below a directory that have a profile's suffix or first bytes.
func directory(arg string, yield func(string, error) bool) {
	root := arg
	if link, err := os.Lstat(arg); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		root += string(filepath.Separator) // the link's target, under the given name
	}
	found := false
	var others seen
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			if !isFile(name, d) {
				return nil
			}
			if !looksLikeProfile(name) && !others.isProfile(name) {
				return nil
			}
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
		yield(arg, fmt.Errorf("%s: no profiles in this directory%s", arg, others))
	}
}

// isFile reports whether an entry is a file, or a link to a file or to nothing. A broken link must not be
// skipped here, because it is an error when it is read.
func isFile(name string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(name)
	return err != nil || info.Mode().IsRegular()
}

// Is reports whether an argument names an existing input: a file, a directory, a URL or -. A URL is not
// fetched.
func Is(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil || addressOf(arg) != "" || arg == "-"
}

// suffixes are the suffixes of profiles. Such a file is read even if it begins otherwise, so that a damaged
// profile is an error.
var suffixes = []string{".gz", ".pb", ".pprof", ".prof"}

func looksLikeProfile(name string) bool {
	return slices.Contains(suffixes, strings.ToLower(filepath.Ext(name)))
}
