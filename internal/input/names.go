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

// Names yields the names of an argument's profiles, each a valid argument of [Web.Read]. If arg is HOST:PORT and
// no such file exists, the name is a URL; if a URL has no path, it becomes the URL of the server's CPU
// profile.
//
// Inaccessible entries are errors that name them; more names may follow. Names yields at least one element: a
// directory without profiles is an error, which describes its contents. If arg is a file, it may have any
// suffix. A file in a directory is a profile if it has the suffix or the first bytes of one.
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

// directory yields the files in a directory and its subdirectories that have a profile's suffix or first
// bytes.
func directory(arg string, yield func(string, error) bool) {
	root := arg
	if link, err := os.Lstat(arg); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		root += string(filepath.Separator) // follow the link, but keep the given name
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

// isFile reports whether an entry is a regular file, or a link to a regular file or to nothing. It includes
// broken links, because reading one is an error that must be reported.
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

// suffixes are the suffixes of profiles. A file with such a suffix is read whatever its first bytes are,
// because a damaged profile must be an error.
var suffixes = []string{".gz", ".pb", ".pprof", ".prof"}

func looksLikeProfile(name string) bool {
	return slices.Contains(suffixes, strings.ToLower(filepath.Ext(name)))
}
