package iceberg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Keys of the properties of the table and its snapshots.
const (
	nodePrefix      = "granary.node."
	addressSuffix   = ".address"
	forgottenPrefix = "granary.forgotten." // the life that the next node of the id has
)

// lifeBits are the bits of a unit's id in its store. A seal has the life of the node above them, so that the units of a directory under
// an id that Forget has freed are others than those of the directory before. Ids that are times in seconds fit too.
const lifeBits = 40

// lifeOf returns the life of a node with a seal: how often its id was forgotten before.
func lifeOf(seal int64) int64 { return seal >> lifeBits }

// Limits of a commit. A commit that lost against another is tried again without a limit. Other errors leave
// open whether the commit happened, and mostFailures of them in a row end the attempts.
const (
	mostFailures  = 5
	leastPause    = 20 * time.Millisecond
	greatestPause = 2 * time.Second
)

// ErrNode is returned for a node that the table does not know, or whose property is invalid.
var ErrNode = errors.New("invalid node")

// Node is the table's entry for a node.
type Node struct {
	ID      string
	Seal    int64  // newest committed unit; with Unit 0 if there is none
	Address string // where it answers queries about newer rows; can be empty
}

// Unit returns the id of the newest committed unit in the node's store, 0 if there is none. Before the first Forget of its id it is the
// seal.
func (n Node) Unit() int64 { return n.Seal & (1<<lifeBits - 1) }

// SealOf returns the seal of a unit by its id in the node's store, above 0 and below 1<<40.
func (n Node) SealOf(unit int64) int64 { return lifeOf(n.Seal)<<lifeBits | unit }

// nodeOf returns a node's entry. ok is false if there is none.
func nodeOf(props iceberg.Properties, id string) (n Node, ok bool, err error) {
	text, ok := props[nodePrefix+id]
	if !ok {
		return Node{ID: id}, false, nil
	}
	seal, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seal < 0 {
		return n, false, fmt.Errorf("%w: property %s%s is %q, want the number of a seal", ErrNode, nodePrefix, id, text)
	}
	return Node{ID: id, Seal: seal, Address: props[nodePrefix+id+addressSuffix]}, true, nil
}

// node returns a node's entry. The error is ErrNode for an unknown node.
func (l *Lake) node(ctx context.Context, id string) (Node, error) {
	t, err := l.load(ctx)
	if err != nil {
		return Node{}, err
	}
	n, known, err := nodeOf(t.Properties(), id)
	if err == nil && !known {
		err = l.unknown(id)
	}
	return n, err
}

// nextLife returns the life of a node that is registered.
func nextLife(props iceberg.Properties, id string) (life int64, err error) {
	if text, ok := props[forgottenPrefix+id]; ok {
		if life, err = strconv.ParseInt(text, 10, 64); err != nil || life < 0 || life >= 1<<(63-lifeBits) {
			return 0, fmt.Errorf("%w: property %s%s is %q, want a number", ErrNode, forgottenPrefix, id, text)
		}
	}
	return life, nil
}

func (l *Lake) unknown(id string) error {
	return fmt.Errorf("%w: %q is not registered in table %s", ErrNode, id, l.Name())
}

// Register makes a node known before it takes rows, with a seal that is behind those of forgotten nodes of its id, or sets a known node's
// address. It may be repeated. The errors are ErrOptions, ErrNode, and any from the catalog.
func (l *Lake) Register(ctx context.Context, id, address string) error {
	if err := (&Unit{Node: id, Seal: 1, To: 1}).check(); err != nil {
		return err
	}
	return l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		n, known, err := nodeOf(t.Properties(), id)
		if err != nil || known && n.Address == address {
			return nil, err
		}
		set := iceberg.Properties{nodePrefix + id + addressSuffix: address}
		if !known {
			life, err := nextLife(t.Properties(), id)
			if err != nil {
				return nil, err
			}
			set[nodePrefix+id] = strconv.FormatInt(life<<lifeBits, 10)
		}
		tx := t.NewTransaction()
		return tx, errors.Join(tx.SetProperties(set), tx.AssertRefSnapshotID(""))
	})
}

// Forget removes a node, and the copy of its directory (Segments), with which the next node of that name would add its units
// again. Readers lose its uncommitted rows. A process that still has the id gets ErrNode from its next commit, also if another one
// registers it. The seals of that one are greater than all of this. It returns the errors of Register, and those of the object store.
func (l *Lake) Forget(ctx context.Context, id string) error {
	if err := l.removeSegments(ctx, id); err != nil {
		return err
	}
	return l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		n, known, err := nodeOf(t.Properties(), id)
		if err != nil || !known {
			return nil, err
		}
		tx := t.NewTransaction()
		if err := tx.SetProperties(iceberg.Properties{forgottenPrefix + id: strconv.FormatInt(lifeOf(n.Seal)+1, 10)}); err != nil {
			return nil, err
		}
		return tx, tx.RemoveProperties([]string{nodePrefix + id, nodePrefix + id + addressSuffix})
	})
}

// Commit adds a unit's files to the table, exactly once: the commit that adds them also sets the node's
// newest seal, and it succeeds only on the table state that was read. It reports false, and adds nothing,
// if that seal or a later one is committed already. Then the files are orphans, as after an attempt whose
// answer got lost.
//
// Commit tries again until it succeeds, ctx ends, or the catalog fails several times in a row. After an
// error the unit may be committed or not; write the unit again, and commit that. The errors are ErrNode for
// a node that is not registered, ctx's, and any from the catalog. The unit's symbols, if any, are added
// first, at least once if the unit is.
func (l *Lake) Commit(ctx context.Context, f *Files) (bool, error) {
	if stale, err := l.commitSymbols(ctx, f); err != nil || stale {
		return false, err
	}
	added := false
	key, seal := nodePrefix+f.Node, strconv.FormatInt(f.Seal, 10)
	err := l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		added = false
		n, err := l.committed(t, f)
		if err != nil || n.Seal >= f.Seal {
			return nil, err
		}
		added = true
		tx := t.NewTransaction()
		if err := tx.SetProperties(iceberg.Properties{key: seal}); err != nil {
			return nil, err
		}
		err = tx.AddDataFiles(ctx, f.data, iceberg.Properties{key: seal}, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping())
		if err != nil {
			return nil, err
		}
		// Without this the library would replay the files on a newer state by itself, which can
		// have them already.
		return tx, tx.AssertRefSnapshotID("")
	})
	if err != nil {
		return false, fmt.Errorf("commit of unit %d of node %s: %w", f.Seal, f.Node, err)
	}
	return added, nil
}

// committed returns the entry of a unit's node in a state of the table. The error is ErrNode for a node that is not registered, or is
// another one since the id was forgotten.
func (l *Lake) committed(t *table.Table, f *Files) (Node, error) {
	n, known, err := nodeOf(t.Properties(), f.Node)
	switch {
	case err == nil && !known:
		err = l.unknown(f.Node)
	case err == nil && lifeOf(n.Seal) != lifeOf(f.Seal):
		err = fmt.Errorf("%w: %q was forgotten, and is another node now", ErrNode, f.Node)
	}
	return n, err
}

// commitSymbols adds a unit's symbols before its samples, so that readers of the samples find them. stale
// reports that the table has the unit already.
func (l *Lake) commitSymbols(ctx context.Context, f *Files) (stale bool, err error) {
	if len(f.sides[sideStacks])+len(f.sides[sideLocations]) == 0 {
		return false, nil
	}
	err = l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		n, err := l.committed(t, f)
		stale = n.Seal >= f.Seal
		return nil, err
	})
	if err == nil && !stale {
		err = l.commitSides(ctx, f)
	}
	if err != nil {
		err = fmt.Errorf("commit of symbols of unit %d of node %s: %w", f.Seal, f.Node, err)
	}
	return stale, err
}

// change commits the transaction that edit makes from the table's newest state. It calls edit again after
// each failure. If edit returns no transaction, nothing is left to do.
func (l *Lake) change(ctx context.Context, edit func(t *table.Table) (*table.Transaction, error)) error {
	pause := leastPause
	for failures := 0; ; {
		t, err := l.load(ctx)
		if err == nil {
			var tx *table.Transaction
			tx, err = edit(t)
			if errors.Is(err, ErrNode) || err == nil && tx == nil {
				return err
			}
			if err == nil {
				_, err = tx.Commit(ctx)
			}
		}
		if err == nil {
			return nil
		}
		if !isConflict(err) {
			if failures++; failures == mostFailures {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(time.Duration(rand.Int64N(int64(pause)))):
		}
		pause = min(2*pause, greatestPause)
	}
}

// isConflict reports whether another commit came first, or is under way.
func isConflict(err error) bool {
	return errors.Is(err, table.ErrCommitFailed) || // the SQL catalog's error has no type:
		strings.Contains(err.Error(), "requirement failed: ") || strings.Contains(err.Error(), "database is locked")
}

// Nodes returns the nodes in the table, ordered by id, and the snapshot that has exactly their units up to
// the returned seals, 0 if the table is empty. Both come from one load of the table, so that a reader of
// that snapshot and of the nodes' later units sees each row once. The errors are ErrNode and any from the
// catalog.
func (l *Lake) Nodes(ctx context.Context) (nodes []Node, snapshot int64, err error) {
	t, err := l.load(ctx)
	if err != nil {
		return nil, 0, err
	}
	if nodes, err = nodesOf(t.Properties()); err != nil {
		return nil, 0, err
	}
	if s := t.CurrentSnapshot(); s != nil {
		snapshot = s.SnapshotID
	}
	return nodes, snapshot, nil
}
