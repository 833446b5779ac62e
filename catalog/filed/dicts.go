package filed

import (
	"fmt"

	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// mostFiles is the number of files of a generation at which they are written again as one.
const mostFiles = 8

// Dictionaries are a generation in memory, with how far the log has it.
type Dictionaries struct {
	*granule.Generation
	Filed, Logged granule.Watermark
	Entries       uint64 // of the log, up to Logged
}

// Kept returns how far the files reach that stay when dictionaries are written: none if there are
// many.
func (g GenerationFiles) Kept(dicts Dictionaries) granule.Watermark {
	if len(g.Files)+1 > mostFiles {
		return granule.Watermark{}
	}
	return dicts.Filed
}

// WriteDicts writes what a generation has between its watermarks, and returns the generation with
// the new file. It writes all up to Logged, as the only file, if there are many files. An error is
// one of the disk.
func (d *Dir) WriteDicts(dicts Dictionaries, before GenerationFiles) (GenerationFiles, error) {
	after := GenerationFiles{Number: before.Number, Entries: dicts.Entries, Files: before.Files}
	if dicts.Filed == dicts.Logged {
		return after, nil
	}
	from := before.Kept(dicts)
	if from != dicts.Filed {
		after.Files = nil
	}
	w, err := d.create(dictsKind)
	if err != nil {
		return before, err
	}
	piece, err := w.Write(dicts.AppendImageTo(nil, from, dicts.Logged))
	if err != nil {
		w.Abandon()
		return before, err
	}
	after.Files = append(after.Files[:len(after.Files):len(after.Files)], d.next-1)
	return after, d.end(w, appendPiece(nil, piece))
}

// ReadDicts adds the contents of a generation's files to empty dictionaries. The errors are
// *disk.DamagedError, ErrFile, granule.ErrImage, and those of the FS.
func (d *Dir) ReadDicts(s *schema.Schema, g GenerationFiles, into *granule.Generation) error {
	for _, number := range g.Files {
		if err := d.readDicts(s, number, into); err != nil {
			return fmt.Errorf("generation %d: %s: %w", g.Number, disk.FileName(dictsKind, number), err)
		}
	}
	return nil
}

func (d *Dir) readDicts(s *schema.Schema, number uint64, into *granule.Generation) error {
	r, err := disk.OpenFile(d.fs, d.store, dictsKind, number)
	if err != nil {
		return err
	}
	defer r.Close()
	piece, rest, ok := cutPiece(r.Directory())
	if !ok || len(rest) > 0 {
		return fmt.Errorf("%w: a directory of %d bytes", ErrFile, len(r.Directory()))
	}
	image, err := r.Read(piece, nil)
	if err != nil {
		return err
	}
	add, err := into.OpenImage(s, image)
	if err != nil {
		return err
	}
	add()
	return nil
}
