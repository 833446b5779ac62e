package columnstore

// clean removes what the manifest does not need. After an error the keeper does it again: what is left
// takes space, and harms nothing. The caller holds keeper.filing, or is alone.
func (k *keeper) clean(s *Store) error {
	err := k.dir.Clean(k.manifest, s.needed())
	if err == nil && k.manifest != nil {
		err = s.log.RemoveBelow(k.manifest.Segment)
	}
	k.unclean.Store(err != nil)
	return err
}

// cleanAgain is clean by itself, with its error for Stats.
func (k *keeper) cleanAgain(s *Store) (err error) {
	if s.closed.Load() {
		return ErrClosed // Close cleans, and then another process can have the directory
	}
	err = k.clean(s)
	k.failing.Store(&err)
	return err
}
