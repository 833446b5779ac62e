package tree

import (
	"cmp"
	"hash/fnv"
	"math/bits"
	"slices"
)

// largest reports which nodes of a tree to keep. The root is among them. The children of each of them are there.
func (c *Calls) largest(m *treeNodes, most int) []bool {
	k := keeper{calls: c, tree: m, keep: make([]bool, len(m.nodes)), left: most}
	k.keep[0] = true
	if most <= 0 || len(m.large)-1 <= most {
		for _, i := range m.large {
			k.keep[i] = true
		}
		return k.keep
	}
	bySize := slices.DeleteFunc(slices.Clone(m.large), func(i int32) bool { return i == 0 })
	slices.SortFunc(bySize, func(a, b int32) int { return cmp.Compare(m.size(b), m.size(a)) })
	for len(bySize) > 0 && k.left > 0 {
		equal := 1
		for equal < len(bySize) && m.size(bySize[equal]) == m.size(bySize[0]) {
			equal++
		}
		k.addEqual(bySize[:equal])
		bySize = bySize[equal:]
	}
	return k.keep
}

// keeper chooses the nodes to keep. The choice depends on values and names alone, because the same stacks come in another
// order from another store.
type keeper struct {
	calls  *Calls
	tree   *treeNodes
	keep   []bool
	left   int      // number of nodes that there is room for
	added  []int32  // by the last addEqual
	hashes []uint64 // of the paths of nodes; nil until more nodes are equal than fit
}

// add keeps a node and its ancestors, if they fit.
func (k *keeper) add(i int32) bool {
	missing := 0
	for at := i; !k.keep[at] && missing <= k.left; at = k.tree.nodes[at].parent {
		missing++
	}
	if missing > k.left {
		return false
	}
	for at := i; !k.keep[at]; at = k.tree.nodes[at].parent {
		k.keep[at], k.added = true, append(k.added, at)
	}
	k.left -= missing
	return true
}

// addEqual adds nodes of one size: all if they fit, or as many as do, in the order of the hashes of their paths.
func (k *keeper) addEqual(nodes []int32) {
	k.added = k.added[:0]
	if !slices.ContainsFunc(nodes, func(i int32) bool { return !k.add(i) }) {
		return
	}
	for _, i := range k.added {
		k.keep[i] = false
	}
	k.left += len(k.added)
	if k.hashes == nil {
		k.hashes = k.pathHashes()
	}
	slices.SortFunc(nodes, func(a, b int32) int { return cmp.Or(cmp.Compare(k.hashes[a], k.hashes[b]), cmp.Compare(a, b)) })
	for _, i := range nodes {
		k.add(i)
	}
}

// pathHashes returns a hash of each node's path: of the names and files of its functions.
func (k *keeper) pathHashes() []uint64 {
	functions := make([]uint64, len(k.calls.frames))
	for i, f := range k.calls.frames {
		functions[i] = functionHash(f.Function, f.File)
	}
	out := make([]uint64, len(k.tree.nodes))
	for i := int32(1); int(i) < len(out); i++ {
		n := &k.tree.nodes[i]
		out[i] = pathHash(out[n.parent], functions[n.frame])
	}
	return out
}

// functionHash returns the hash of a function: FNV-1a.
func functionHash(name, file string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name + "\x00" + file)) // a hash returns no errors
	return h.Sum64()
}

// pathHash returns the hash of a path from those of the path above, 0 for the root, and of its last function.
func pathHash(above, function uint64) uint64 {
	high, low := bits.Mul64(above^function, 0x9e3779b97f4a7c15) // 2^64 divided by the golden ratio
	return high ^ low
}

// A class of sizes has the sizes with the same number of bits and the same classBits bits after the
// first.
const classBits = 5

func classOf(size uint64) int {
	n := bits.Len64(size)
	if n <= classBits {
		return int(size)
	}
	return (n-classBits)<<classBits + int(size>>(n-1-classBits)&(1<<classBits-1))
}
