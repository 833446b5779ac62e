package dict

import "github.com/google/uuid"

// Union gives codes to lists of several dictionaries with one seed, one to each distinct list, in order of
// arrival. It is not safe for concurrent use.
type Union struct {
	lists ListView
	slots []uint32 // codes, 0 where free: open addressing by the lists' hashes
}

// NewUnion returns a union of dictionaries without a list.
func NewUnion(dicts ...*Lists) *Union {
	u := &Union{lists: ListView{dicts: dicts, refs: []listRef{}}, slots: make([]uint32, firstSlots)}
	base := uint32(0)
	for _, d := range dicts {
		d.hashed()
		u.lists.bases = append(u.lists.bases, base)
		base += uint32(d.Elements())
	}
	return u
}

// Add returns the union's code for the list that a dictionary, given by index, has under code. It costs
// about 30 ns.
func (u *Union) Add(dict int, code uint32) uint32 {
	if code == 0 {
		return 0
	}
	if 2*len(u.lists.refs) >= len(u.slots) {
		u.grow()
	}
	hash := u.lists.dicts[dict].hashes.ids.at(int(code) - 1)
	i := home(slotHash(hash), len(u.slots))
	for ; u.slots[i] != 0; i = (i + 1) % len(u.slots) {
		if *u.hash(u.slots[i]) == *hash {
			return u.slots[i]
		}
	}
	u.lists.refs = append(u.lists.refs, listRef{uint32(dict), code})
	u.slots[i] = uint32(len(u.lists.refs))
	return u.slots[i]
}

// hash returns the hash of a list in the union.
func (u *Union) hash(code uint32) *uuid.UUID {
	ref := u.lists.refs[code-1]
	return u.lists.dicts[ref.dict].hashes.ids.at(int(ref.code) - 1)
}

func (u *Union) grow() {
	u.slots = make([]uint32, 2*len(u.slots))
	for code := range u.lists.refs {
		i := home(slotHash(u.hash(uint32(code+1))), len(u.slots))
		for u.slots[i] != 0 {
			i = (i + 1) % len(u.slots)
		}
		u.slots[i] = uint32(code + 1)
	}
}

// Len returns the number of lists.
func (u *Union) Len() int { return len(u.lists.refs) }

// View returns the lists that have been added.
func (u *Union) View() ListView { return u.lists }
