package columnstore

import "github.com/granarydb/granary/txn"

// begin returns the segment of the log that has, with those above, all entries that are not of the
// root that is taken next. It begins one, so that no entry that is filed is needed any more, and
// damage to it costs nothing. A run goes on with the segment of one that failed, so that failures
// make no segments; Close begins one all the same.
//
// Files of a run that ended amid them become durable first, while no root is held.
func (k *keeper) begin(s *Store) (err error) {
	if k.partial != nil {
		if err := k.dir.Sync(); err != nil {
			k.discard()
			return err
		}
	}
	if k.begun == 0 || s.closed.Load() {
		if k.begun, err = s.log.Rotate(); err != nil {
			return err
		}
	}
	s.opts.Yield("file/segment")
	s.awaitCommit() // its entry can be below the segment, and it is not of the root yet
	return nil
}

// clean removes what the manifest does not need. After an error it is due again: what is left takes
// space, and harms nothing. The caller holds keeper.filing, or is alone.
func (k *keeper) clean(s *Store) error {
	err := k.dir.Clean(k.manifest, k.leaving.Needed(s.roots.Root().State, func(before txn.Version) bool {
		_, _, read := s.roots.HeldBefore(before)
		return read
	}))
	if err == nil && k.manifest != nil {
		err = s.log.RemoveBelow(k.manifest.Segment)
	}
	k.unclean.Store(err != nil)
	k.failing.Store(&err)
	return err
}
