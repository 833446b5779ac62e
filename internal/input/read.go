package input

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/granarydb/granary/profile"
)

// Timeout bounds one fetch. A CPU profile takes the seconds of its request.
const Timeout = 5 * time.Minute

// MaxBytes bounds the bytes of one file or URL, compressed or not.
const MaxBytes = 64 << 20

// Read returns the bytes of a file, URL or standard input, which the caller owns, and a
// default time for a profile without its own: the modification time of a file, else now. An
// error names the input, and wraps profile.ErrTooLarge beyond [MaxBytes]. The context ends the
// fetch of a URL, which takes at most [Timeout].
func Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	if isURL(name) {
		data, err := fetch(ctx, name)
		return data, time.Now(), err
	}
	if name == "-" {
		data, err := limited("standard input", os.Stdin)
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
	data, err := limited(name, f)
	return data, info.ModTime(), err
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
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
	return limited(url, resp.Body)
}

func limited(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", name, profile.ErrTooLarge, MaxBytes)
	}
	return data, nil
}
