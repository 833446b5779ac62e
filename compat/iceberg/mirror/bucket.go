package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// bucket is Objects in a bucket, below a prefix.
type bucket struct {
	*blob.Bucket
	prefix string
}

// Bucket returns the objects of a bucket whose names begin with a prefix. The bucket is not closed. It must refuse to make an object that
// it has (If-None-Match: *), as Amazon's S3 does.
func Bucket(b *blob.Bucket, prefix string) Objects { return bucket{b, prefix} }

// Create implements Objects.
func (b bucket) Create(ctx context.Context, name string, body []byte) error {
	err := b.WriteAll(ctx, b.prefix+name, body, &blob.WriterOptions{IfNotExist: true, ContentType: contentType})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return fmt.Errorf("object %s: %w", b.prefix+name, fs.ErrExist)
	}
	return err
}

const contentType = "application/octet-stream" // otherwise the library guesses

// Put implements Objects.
func (b bucket) Put(ctx context.Context, name string, body io.Reader) error {
	ctx, cancel := context.WithCancel(ctx) // which gives the object up
	defer cancel()
	w, err := b.NewWriter(ctx, b.prefix+name, &blob.WriterOptions{ContentType: contentType})
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, body); err != nil {
		cancel()
		return errors.Join(err, w.Close())
	}
	return w.Close()
}

// Get implements Objects.
func (b bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.NewReader(ctx, b.prefix+name, nil)
	if err != nil {
		return nil, b.missing(name, err)
	}
	return r, nil
}

// missing returns fs.ErrNotExist for the error of an object that there is not.
func (b bucket) missing(name string, err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("object %s: %w", b.prefix+name, fs.ErrNotExist)
	}
	return err
}

// Remove implements Objects.
func (b bucket) Remove(ctx context.Context, name string) error {
	err := b.missing(name, b.Delete(ctx, b.prefix+name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List implements Objects.
func (b bucket) List(ctx context.Context, prefix string) (names []string, err error) {
	it := b.Bucket.List(&blob.ListOptions{Prefix: b.prefix + prefix})
	for {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, o.Key[len(b.prefix):])
	}
}
