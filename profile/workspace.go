package profile

import codec "github.com/granarydb/granary/profile/pprof"

// workspace is the working memory of an insert. A DB keeps some for later inserts.
type workspace struct {
	reader  codec.Reader
	flat    flat
	batcher batcher
}

// read decompresses and decodes a profile into w.flat and checks it.
func (w *workspace) read(data []byte, limits Limits) error {
	if err := w.reader.Read(data, limits, &w.flat.Flat); err != nil {
		return err
	}
	return w.flat.check()
}
