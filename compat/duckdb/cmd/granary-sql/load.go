//go:build cgo

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

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

const (
	fetchTimeout = 5 * time.Minute // of one URL: a CPU profile takes the seconds it was asked to
	maxBytes     = 64 << 20        // of one file or URL, compressed or not
)

// loaded is a store with the profiles of the inputs.
type loaded struct {
	store        *columnstore.Store
	db           *profile.DB
	good, failed int // profiles that were loaded and those that were not, each told on stderr
}

// load inserts every profile of the inputs. It fails if there is none.
func load(ctx context.Context, stderr io.Writer, inputs []string) (*loaded, error) {
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1}) // another machine's clock is not judged here
	if err != nil {
		return nil, err
	}
	l := &loaded{store: store}
	if l.db, err = profile.Open(store, profile.Options{Table: "samples"}); err != nil {
		store.Close()
		return nil, err
	}
	seen := map[string]int{}
	fail := func(err error) {
		if err != nil {
			l.failed++
			fmt.Fprintf(stderr, "granary-sql: %s\n", err)
		}
	}
	for _, input := range inputs {
		names, err := profiles(input)
		for _, name := range names {
			if ctx.Err() != nil {
				store.Close()
				return nil, ctx.Err()
			}
			seen[name]++
			fail(l.add(ctx, name, seen[name]))
		}
		fail(err)
	}
	if l.good == 0 {
		store.Close()
		return nil, errors.New("there is no profile in the inputs")
	}
	return l, nil
}

// profiles returns the names of the profiles that an input stands for, of a directory
// those of files that look like profiles.
func profiles(input string) ([]string, error) {
	if isURL(input) || input == "-" {
		return []string{input}, nil
	}
	info, err := os.Stat(input)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{input}, nil
	}
	var names []string
	err = filepath.WalkDir(input+string(filepath.Separator), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&^fs.ModeSymlink == 0 && looksLikeProfile(name) {
			names = append(names, filepath.Clean(name))
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no profiles in this directory", input)
	}
	return names, err
}

func looksLikeProfile(name string) bool {
	return slices.Contains([]string{".gz", ".pb", ".pprof", ".prof"}, strings.ToLower(filepath.Ext(name)))
}

func isURL(input string) bool {
	return strings.HasPrefix(input, "http://") || strings.HasPrefix(input, "https://")
}

// isInput says whether an argument is an input and no SQL.
func isInput(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil || isURL(arg) || arg == "-"
}

// add inserts one profile. Its label file is its name; of an input that was named before,
// with a number behind it.
func (l *loaded) add(ctx context.Context, name string, times int) error {
	data, at, err := read(ctx, name)
	if err != nil {
		return err
	}
	label := strings.ToValidUTF8(name, "?")
	if times > 1 {
		label = fmt.Sprintf("%s (%d)", label, times)
	}
	opts := profile.InsertOptions{Labels: map[string]string{"file": label}, Time: at}
	if _, err := l.db.InsertEncoded(ctx, data, opts); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l.good++
	return nil
}

// read returns the bytes of an input and a time for a profile without one.
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
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > maxBytes:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", name, profile.ErrTooLarge, maxBytes)
	}
	return data, nil
}
