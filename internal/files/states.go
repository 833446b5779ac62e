package files

// HistoryFiles names a history's file. Its index in Manifest.Histories is the history's ordinal.
type HistoryFiles struct {
	Name          string
	MaxAttributes int
	File          uint64
}

// WriteStates writes a history's image, and returns the number of the file. The error comes from the
// disk.
func (d *Dir) WriteStates(image []byte) (uint64, error) {
	return d.writePiece(StatesKind, image)
}

// ReadStates returns a history's image. The errors are *disk.DamagedError, ErrFile, and errors from the
// FS.
func (d *Dir) ReadStates(number uint64) ([]byte, error) {
	return d.readPiece(StatesKind, number)
}

// History returns the history with an ordinal, or nil. A nil manifest has no histories.
func (m *Manifest) History(ordinal int) *HistoryFiles {
	if m == nil || ordinal >= len(m.Histories) {
		return nil
	}
	return &m.Histories[ordinal]
}
