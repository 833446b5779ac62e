package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// fetchTimeout bounds one URL: a CPU profile takes the seconds it was asked to.
const fetchTimeout = 5 * time.Minute

// maxFetch bounds what is read of one file or URL, compressed or not.
const maxFetch = 64 << 20

const inputsHelp = `Inputs are files, directories, http URLs and - for standard input. In a
directory, and below it, files named .pb.gz, .pb, .pprof, .prof or .gz are taken
for profiles; links to files are followed there, links to directories are not. A
bad profile is named on standard error; the answer is then from the others, and
the exit code 1.`

// loaded is a store with the profiles of a command's inputs.
type loaded struct {
	store  *columnstore.Store
	db     *profile.DB
	failed int // inputs that could not be loaded, each told on stderr
	inputs map[string]int
}

func (l *loaded) Close() { l.store.Close() }

// answer answers a query about the profiles of a snapshot.
type answer func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error

// withInputs loads the inputs and calls f with a snapshot of them and the query
// that the flags ask for. What failed to load makes an error after f's answer.
func withInputs(cmd *cobra.Command, s selection, args []string, f answer) error {
	asked, err := s.read()
	if err != nil {
		return err
	}
	l, err := load(cmd.Context(), cmd.ErrOrStderr(), columnstore.Options{}, args)
	if err != nil {
		return err
	}
	defer l.Close()
	err = l.store.View(cmd.Context(), func(snap *columnstore.Snapshot) error {
		q, err := asked.at(cmd.Context(), l.db, snap, &s)
		if err != nil {
			return err
		}
		return f(cmd.Context(), l.db, snap, q)
	})
	if err == nil && l.failed > 0 {
		err = failedError{errors.New("some inputs could not be read")}
	}
	return err
}

// load inserts every profile of the inputs. It fails if there is none. With
// opts.Manual, maintenance is done after each profile, not beside: the same inputs
// end up in the same granules and parts.
func load(ctx context.Context, stderr io.Writer, opts columnstore.Options, args []string) (*loaded, error) {
	opts.FutureLimit = -1 // another machine's clock is not judged here
	store, err := columnstore.Open(opts)
	if err != nil {
		return nil, err
	}
	l := &loaded{store: store, inputs: map[string]int{}}
	if l.db, err = profile.Open(store, profile.Options{}); err != nil {
		store.Close()
		return nil, err
	}
	good := 0
	var last error
	fail := func(err error) {
		if last != nil {
			fmt.Fprintf(stderr, "granary: %s\n", oneLine(last))
		}
		last = err
		l.failed++
	}
	for _, arg := range args {
		for name, err := range profiles(arg) {
			if err == nil {
				err = l.add(ctx, name)
			}
			if err == nil && opts.Manual {
				err = store.Maintain(ctx)
			}
			if err != nil {
				fail(err)
				continue
			}
			good++
		}
	}
	if good == 0 {
		store.Close()
		return nil, last // the caller tells it
	}
	if last != nil {
		fmt.Fprintf(stderr, "granary: %s\n", oneLine(last))
	}
	return l, nil
}

// profiles yields the names of the profiles that an argument stands for.
func profiles(arg string) func(yield func(string, error) bool) {
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
		root := arg
		if link, err := os.Lstat(arg); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			root += string(filepath.Separator) // what it leads to, by the name that was given
		}
		found := false
		err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
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

func isURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

func looksLikeProfile(name string) bool {
	return slices.Contains([]string{".gz", ".pb", ".pprof", ".prof"}, strings.ToLower(filepath.Ext(name)))
}

// add inserts one profile, labelled with its name.
func (l *loaded) add(ctx context.Context, name string) error {
	data, at, err := read(ctx, name)
	if err != nil {
		return err
	}
	label := strings.ToValidUTF8(name, "?")
	if l.inputs[label]++; l.inputs[label] > 1 { // named twice, it counts twice
		label = fmt.Sprintf("%s (%d)", label, l.inputs[label])
	}
	opts := profile.InsertOptions{Labels: map[string]string{"file": label}, Time: at}
	if _, err := l.db.InsertEncoded(ctx, data, opts); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// read returns the bytes of a file or URL and a time for a profile without one.
func read(ctx context.Context, name string) ([]byte, time.Time, error) {
	if isURL(name) {
		data, err := fetch(ctx, name)
		return data, time.Now(), err
	}
	if name == "-" {
		data, err := readLimited("standard input", os.Stdin)
		return data, time.Now(), err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	data, err := readLimited(name, f)
	return data, info.ModTime(), err
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err // names the URL
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the server says %s", url, resp.Status)
	}
	return readLimited(url, resp.Body)
}

func readLimited(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFetch+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > maxFetch:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", name, profile.ErrTooLarge, maxFetch)
	}
	return data, nil
}
