package iceberg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"

	"github.com/granarydb/granary/compat/iceberg/mirror"
)

// errNoSegments is returned for a table whose files are neither in an S3 nor in a folder.
var errNoSegments = errors.New("the files of the table are neither in an S3 nor in a folder")

// Segments returns where the copy of a node's directory is (package mirror): beside the folder of the table, NAME_segments/NODE/, so
// that no command removes it as orphans. The errors are ErrOptions, and any from the catalog.
func (l *Lake) Segments(ctx context.Context, node string) (mirror.Objects, error) {
	if err := (&Unit{Node: node, Seal: 1, To: 1}).check(); err != nil {
		return nil, err
	}
	t, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	files, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(strings.TrimSuffix(t.Location(), "/") + "_segments/" + node + "/")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	switch files := files.(type) {
	case *blobfs.FileIO:
		return mirror.Bucket(files.Bucket, strings.TrimPrefix(at.Path, "/")), nil
	case iceio.LocalFS:
		return mirror.Folder(at.Path), nil
	}
	return nil, fmt.Errorf("%w: %w: %s", ErrOptions, errNoSegments, t.Location())
}

// removeSegments removes the copy of a node's directory.
func (l *Lake) removeSegments(ctx context.Context, node string) error {
	objects, err := l.Segments(ctx, node)
	if errors.Is(err, errNoSegments) {
		return nil
	}
	if err == nil {
		err = mirror.RemoveAll(ctx, objects)
	}
	if err != nil {
		return fmt.Errorf("copy of the directory of node %s: %w", node, err)
	}
	return nil
}
