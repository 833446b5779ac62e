package encoding

// idIndex narrows the search for an id among 16-byte ids that lie end to end. The ids form up to 256
// chunks. An id's hash chooses a bucket of about eight entries, each of which names one id's chunk; only
// these chunks are searched. The index takes 1.5 bytes per id:
//
//	starts  of each bucket, and the end: 4 bytes
//	chunks  of each id, bucket by bucket
type idIndex struct {
	starts []uint32 // nil: no index
	chunks []uint8
	chunk  int // ids in a chunk
}

const (
	indexBucket = 8 // ids in a bucket, approximately
	indexChunks = 256
)

// newIDIndex returns the index of ids, by place. It costs about 6 ns per id.
func newIDIndex(ids []IDHash) idIndex {
	n := len(ids)
	x := idIndex{starts: make([]uint32, (n+indexBucket-1)/indexBucket+1), chunks: make([]uint8, n), chunk: (n + indexChunks - 1) / indexChunks}
	for _, id := range ids {
		x.starts[id.in(len(x.starts)-1)]++
	}
	end := uint32(0)
	for i, size := range x.starts {
		end += size
		x.starts[i] = end
	}
	for i := n - 1; i >= 0; i-- { // backwards, because each bucket is filled from its end
		at := &x.starts[ids[i].in(len(x.starts)-1)]
		*at--
		x.chunks[*at] = uint8(i / x.chunk)
	}
	return x
}

// chunksOf returns a bit for each chunk that can have an id.
func (x *idIndex) chunksOf(id IDHash) (set [indexChunks / 64]uint64) {
	at := id.in(len(x.starts) - 1)
	for _, chunk := range x.chunks[x.starts[at]:x.starts[at+1]] {
		set[chunk/64] |= 1 << (chunk % 64)
	}
	return set
}

func (x *idIndex) size() int { return 4*cap(x.starts) + cap(x.chunks) }
