package dirs

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/input"
)

// server is a server whose directory is copied.
type server struct{ url, tokenFile string }

// add adds the flags to a command that has --db, and lets one of both be there.
func (s *server) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.url, "from", "", "copy the directory of the server at `URL`, such as localhost:4040")
	cmd.Flags().StringVar(&s.tokenFile, "token-file", "", "with --from: a `FILE` with a token to ask with, which is bound to no tenant")
	needsDir := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		hasDir := cmd.Flags().Changed("db")
		switch {
		case s.url == "" && !cmd.Flags().Changed("from"):
			return needsDir(cmd, args)
		case hasDir:
			return cli.Usage(errors.New("--db and --from: copy one directory: leave one of them out"))
		}
		return nil
	}
}

// fetch writes the copy of the server's directory into an empty or new one. After an error it is as before.
func (s *server) fetch(cmd *cobra.Command, dir string) (err error) {
	at, err := cli.ServerURL("from", s.url)
	if err != nil {
		return err
	}
	token, err := cli.ReadToken("token-file", s.tokenFile)
	if err != nil {
		return err
	}
	resp, err := ask(cmd, http.MethodPost, at.JoinPath("backup"), token)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // the status is the error, with a text or without
		return fmt.Errorf("%s: the server answers %s: %s", at.Redacted(), resp.Status, cli.Printable(strings.TrimSpace(string(text))))
	}
	// Below another name first, so that a copy that is not whole is never taken for one.
	part := strings.TrimRight(dir, string(filepath.Separator)) + ".part"
	if err := os.MkdirAll(filepath.Dir(part), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(part, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = cmp.Or(os.RemoveAll(part), err)
		}
	}()
	if err := unpack(disk.System(part), tar.NewReader(resp.Body)); err != nil {
		return fmt.Errorf("%s: %w", at.Redacted(), err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) { // an empty directory
		return err
	}
	if err := os.Rename(part, dir); err != nil {
		return err
	}
	return disk.System(filepath.Dir(dir)).SyncDir()
}

// ask sends a request with a token, if there is one. The error names the URL.
func ask(cmd *cobra.Command, method string, at *url.URL, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(cmd.Context(), method, at.String(), nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return new(input.Web).Do(req)
}

// errCopy reports an answer that is no copy of a directory.
var errCopy = errors.New("the answer is no backup")

// unpack writes the files of a tar, durably.
func unpack(to disk.FS, from *tar.Reader) error {
	for n := 0; ; n++ {
		h, err := from.Next()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return to.SyncDir()
		case errors.Is(err, io.EOF):
			return errCopy
		case err != nil:
			return fmt.Errorf("%w: %w", errCopy, err)
		}
		if _, _, ours := disk.ParseName(h.Name); !ours || h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%w: it has %s", errCopy, cli.Printable(h.Name))
		}
		if err := unpackFile(to, h.Name, from); err != nil {
			return err
		}
	}
}

func unpackFile(to disk.FS, name string, from io.Reader) (err error) {
	f, err := to.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	if _, err := io.Copy(io.NewOffsetWriter(f, 0), from); err != nil {
		return fmt.Errorf("%w: %w", errCopy, err)
	}
	return f.Sync()
}
