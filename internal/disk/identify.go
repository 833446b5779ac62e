package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Identify returns the store whose files are in a directory. ok is false if no file has a whole header: no
// store was there, or a crash came before any of its entries was durable. The error is a *DamagedError if
// the files belong to several stores, ErrFormat, or comes from the FS.
func Identify(fs FS) (store StoreID, ok bool, err error) {
	names, err := fs.List()
	if err != nil {
		return store, false, err
	}
	first := ""
	for _, name := range names {
		if _, _, ours := ParseName(name); !ours {
			continue
		}
		id, whole, err := storeOf(fs, name)
		if err != nil {
			return store, false, err
		}
		switch {
		case !whole:
		case !ok:
			store, ok, first = id, true, name
		case id != store:
			return store, false, &DamagedError{File: name, Reason: fmt.Sprintf("it is of store %x, and %s of store %x", id, first, store)}
		}
	}
	return store, ok, nil
}

// storeOf returns the store in a file's header, if that is whole.
func storeOf(fs FS, name string) (id StoreID, whole bool, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return id, false, err
	}
	defer f.Close()
	b := make([]byte, headerSize)
	switch _, err := f.ReadAt(b, 0); {
	case errors.Is(err, io.EOF):
		return id, false, nil
	case err != nil:
		return id, false, err
	}
	return StoreID(b[16:32]), isHeader(b), nil
}

// IdentifyOrNew returns the store of the files in dir. Without files it reads a new id from random or, if
// reads is set, returns fs.ErrNotExist, because a reader makes no store. Other errors come from Identify
// and random.
func IdentifyOrNew(dir FS, random io.Reader, reads bool) (StoreID, error) {
	id, ok, err := Identify(dir)
	switch {
	case err != nil || ok:
		return id, err
	case reads:
		return id, fmt.Errorf("directory without a store: %w", fs.ErrNotExist)
	}
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return id, fmt.Errorf("id of the store: %w", err)
	}
	return id, nil
}
