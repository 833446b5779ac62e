package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// Sealer moves an open store's rows into the table while the store takes more. A unit is a bucket in the
// store (columnstore.Table.Seal), and its seal is its id there. So a row is in the table, in a unit behind
// the node's seal, or in no unit: GET /arrow?after= of package server answers with the latter two.
//
// A node is one directory: the table refuses a seal that the directory never gave. A store without a
// directory loses the rows that the table does not have, and is another node each time that it is opened.
//
// A Sealer belongs to one goroutine, but for Oldest, and a node has one at a time. It must not be copied.
type Sealer struct {
	Lake  *Lake
	Node  string // registered (Lake.Register)
	Store *columnstore.Store
	Table *columnstore.Table
	// Grace is how long units stay in the store after they are in the table. It must cover the longest
	// query of both, from its load of the table on.
	Grace time.Duration
	// Now is the clock of Grace. nil means time.Now.
	Now func() time.Time

	node  *Node                // as it was registered; nil before the first call
	since map[uint64]time.Time // when a unit was first seen in the table
	place atomic.Uint64        // the node's newest seal that was seen in the table
}

// Sealed is the work of a call of Sealer.Seal.
type Sealed struct {
	Units   int   // units newly in the table
	Rows    int64 // their rows
	Bytes   int64 // bytes of their files
	Dropped int   // units that left the store
}

// Seal makes units of the time ranges that end at or before `before`, adds the units that the table lacks
// to it, in the order of their ids, and drops the units that it has had for Grace. It waits until a unit is
// durable before it writes its files, because after a crash other rows could get its id. It can be killed
// and called again at any time.
//
// Units that retention or a budget has dropped before they were in the table are passed over;
// Stats.LostUnitRows counts their rows. The result that Seal returns with an error was done, and the next
// call goes on. Errors are ErrNode for a node that is not registered, or whose seal in the table the
// directory never gave, the errors of columnstore.Table.Seal and Drop, columnstore.ErrSnapshotExpired if
// the store needed the memory, and the errors of Lake.Write and Lake.Commit.
func (s *Sealer) Seal(ctx context.Context, before time.Time) (out Sealed, err error) {
	n, err := s.Lake.node(ctx, s.Node)
	if err == nil {
		err = s.checkLife(n)
	}
	place := uint64(n.Unit())
	if err == nil {
		err = s.checkPlace(place) // before anything is sealed, because another store's ids would otherwise rise up to the place
	}
	if err == nil {
		err = s.drop(ctx, place, &out) // it makes room on a full disk, where the next step finds none
	}
	if err != nil {
		return out, err
	}
	_, sealErr := s.Table.Seal(ctx, before.UnixNano()) // earlier units are added despite an error
	if err = s.Store.Sync(ctx); err == nil {
		place, err = s.add(ctx, place, &out)
	}
	if err == nil {
		err = s.drop(ctx, place, &out)
	}
	return out, errors.Join(sealErr, err)
}

// Check returns ErrNode if the node has a seal in the table that its directory never gave, because the directory
// is new, an older copy, or another node's: Seal would add none of its rows. A node that the table does not know
// is right. Call it before the node takes rows. It changes nothing. A nil Table stands for a new directory. Other errors are those of the
// catalog.
func (s *Sealer) Check(ctx context.Context) error {
	t, err := s.Lake.load(ctx)
	if err != nil {
		return err
	}
	n, _, err := nodeOf(t.Properties(), s.Node)
	if err != nil {
		return err
	}
	return s.checkPlace(uint64(n.Unit()))
}

// checkLife compares a node with the one that it was in the first call.
func (s *Sealer) checkLife(n Node) error {
	if s.node == nil {
		s.node = &n
	}
	if lifeOf(s.node.Seal) != lifeOf(n.Seal) {
		return fmt.Errorf("%w: %q was forgotten, and is another node now", ErrNode, s.Node)
	}
	return nil
}

// Oldest returns the start of the oldest time range with rows that the table lacks, as far as Check and Seal have seen the table. It
// is zero if there are none. It is safe for concurrent use. The errors are those of columnstore.Store.Snapshot. O(buckets and
// granules in memory).
func (s *Sealer) Oldest() (time.Time, error) {
	units, _, err := s.allUnits()
	place, oldest := s.place.Load(), time.Time{}
	for _, u := range units {
		if first := time.Unix(0, u.First); (u.ID == 0 || u.ID > place) && (oldest.IsZero() || first.Before(oldest)) {
			oldest = first
		}
	}
	return oldest, err
}

// checkPlace compares the node's seal in the table with the newest that the store gave.
func (s *Sealer) checkPlace(place uint64) error {
	_, last, err := s.units()
	if err == nil && place <= last {
		s.place.Store(place)
	} else if err == nil {
		err = fmt.Errorf("%w: %q has seal %d in table %s, and its directory has no unit behind %d: it is another node's, new, or an older copy", ErrNode, s.Node, place, s.Lake.Name(), last)
	}
	return err
}

// allUnits returns the store's buckets, and the newest id of a unit that it ever had.
func (s *Sealer) allUnits() (units []columnstore.Unit, last uint64, err error) {
	if s.Table == nil {
		return nil, 0, nil
	}
	snap, err := s.Store.Snapshot()
	if err != nil {
		return nil, 0, err
	}
	defer snap.Close()
	return s.Table.Units(snap)
}

// units returns the store's units, ordered by id, and the newest id that it ever had.
func (s *Sealer) units() (units []columnstore.Unit, last uint64, err error) {
	units, last, err = s.allUnits()
	units = slices.DeleteFunc(units, func(u columnstore.Unit) bool { return u.ID == 0 })
	slices.SortFunc(units, func(a, b columnstore.Unit) int { return cmp.Compare(a.ID, b.ID) })
	return units, last, err
}

// add adds the units behind a node's seal to the table, and returns the node's new seal.
func (s *Sealer) add(ctx context.Context, place uint64, out *Sealed) (uint64, error) {
	units, last, err := s.units()
	if err != nil {
		return place, err
	}
	for _, u := range units {
		if u.ID <= place {
			continue
		}
		if err := s.addUnit(ctx, u, out); err != nil && !errors.Is(err, columnstore.ErrUnit) { // it was dropped meanwhile
			return place, err
		}
		place = u.ID
		s.place.Store(place)
	}
	if place < last { // the newest are lost, and readers would wait for them for ever
		if _, err := s.Lake.Commit(ctx, &Files{Node: s.Node, Seal: s.node.SealOf(int64(last))}); err != nil {
			return place, err
		}
	}
	s.place.Store(last)
	return last, nil
}

// addUnit adds a unit to the table. A snapshot is held for only one unit, because others can wait long for
// the catalog.
func (s *Sealer) addUnit(ctx context.Context, u columnstore.Unit, out *Sealed) error {
	snap, err := s.Store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	files, err := s.Lake.Write(ctx, Unit{
		Node: s.Node, Seal: s.node.SealOf(int64(u.ID)), Bucket: u.ID, From: u.First, To: u.Last + 1, Table: s.Table, Snapshot: snap,
	})
	if err != nil {
		return err
	}
	added, err := s.Lake.Commit(ctx, files)
	if err == nil && added {
		out.Units, out.Rows, out.Bytes = out.Units+1, out.Rows+files.Rows, out.Bytes+files.Bytes
	}
	return err
}

// drop drops the units up to a node's seal that the table has had for Grace.
func (s *Sealer) drop(ctx context.Context, place uint64, out *Sealed) error {
	units, _, err := s.units()
	if err != nil {
		return err
	}
	now := time.Now()
	if s.Now != nil {
		now = s.Now()
	}
	since := map[uint64]time.Time{}
	var ids []uint64
	for _, u := range units {
		if u.ID > place {
			continue
		}
		seen, known := s.since[u.ID]
		if !known {
			seen = now
		}
		if since[u.ID] = seen; now.Sub(seen) >= s.Grace {
			ids = append(ids, u.ID)
		}
	}
	s.since = since
	if len(ids) == 0 {
		return nil
	}
	if _, err := s.Table.Drop(ctx, ids); err != nil {
		return err
	}
	out.Dropped += len(ids)
	return nil
}
