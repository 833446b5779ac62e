package mirror

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Objects is a folder in an object store, with a slash between the parts of a name. A reader sees what was written and removed
// before it. All methods are safe for concurrent use. After an error other than fs.ErrExist and fs.ErrNotExist a call can have
// happened.
type Objects interface {
	// Create makes an object, or returns fs.ErrExist if there is one.
	Create(ctx context.Context, name string, body []byte) error
	// Put makes or replaces an object. A reader gets all of the old one or all of the new one.
	Put(ctx context.Context, name string, body io.Reader) error
	// Get opens an object, or returns fs.ErrNotExist if there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// Remove removes an object. It returns nil if there is none.
	Remove(ctx context.Context, name string) error
	// List returns the names that begin with a prefix, which ends with a slash, in ascending order.
	List(ctx context.Context, prefix string) ([]string, error)
}

// The folders of objects.
const (
	journalFolder = "journal/"
	filesFolder   = "files/"
	wholeFolder   = "whole/"
	claimsFolder  = "claims/"
)

func journalName(sequence uint64) string { return fmt.Sprintf("%s%016x", journalFolder, sequence) }

func claimName(sequence uint64) string { return fmt.Sprintf("%s%016x", claimsFolder, sequence) }

func wholeName(epoch uint64) string { return fmt.Sprintf("%s%016x", wholeFolder, epoch) }

func fileName(epoch uint64, name string) string {
	return fmt.Sprintf("%s%016x/%s", filesFolder, epoch, name)
}

// cutFile returns the epoch and the file of an object below files/, and the sum of its bytes, "" for none. ok is false for another
// object.
func cutFile(object string) (epoch uint64, name, sum string, ok bool) {
	epoch, rest, ok := cutNumber(object, filesFolder)
	name, sum, _ = strings.Cut(rest, sumMark)
	return epoch, name, sum, ok && isOurs(name)
}

// sumMark is between the name of a file, which has none, and its sum.
const sumMark = "."

// sumOf returns what is behind the name of a file with these bytes: their number, and their checksum, CRC32C.
func sumOf(size int64, crc uint32) string { return fmt.Sprintf("%x-%08x", size, crc) }

// cutNumber returns the number behind a folder in an object's name, and what follows it. ok is false for another name.
func cutNumber(name, folder string) (number uint64, rest string, ok bool) {
	text, ok := strings.CutPrefix(name, folder)
	if !ok {
		return 0, "", false
	}
	text, rest, _ = strings.Cut(text, "/")
	number, err := strconv.ParseUint(text, 16, 64)
	return number, rest, err == nil && len(text) == 16
}

// newest returns the greatest number in a folder, 0 for none.
func newest(ctx context.Context, o Objects, folder string) (uint64, error) {
	names, err := o.List(ctx, folder)
	if err != nil {
		return 0, err
	}
	greatest := uint64(0)
	for _, name := range names {
		if number, _, ok := cutNumber(name, folder); ok {
			greatest = max(greatest, number)
		}
	}
	return greatest, nil
}
