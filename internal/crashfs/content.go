package crashfs

import "slices"

// content is a file's bytes. Bytes behind data are zero, so that reserved space takes no memory.
type content struct {
	data []byte
	size int64 // at least len(data)
}

func (c *content) clone() content { return content{data: slices.Clone(c.data), size: c.size} }

// resize sets the size. New bytes are zero.
func (c *content) resize(size int64) {
	if size < int64(len(c.data)) {
		c.data = c.data[:size:size]
	}
	c.size = size
}

// read copies the bytes from offset on, and returns their number.
func (c *content) read(b []byte, offset int64) int {
	n := min(int64(len(b)), c.size-offset)
	if n <= 0 {
		return 0
	}
	copied := 0
	if offset < int64(len(c.data)) {
		copied = copy(b[:n], c.data[offset:])
	}
	clear(b[copied:n])
	return int(n)
}

// write sets the bytes from offset on. The size becomes at least their end.
func (c *content) write(b []byte, offset int64) {
	end := offset + int64(len(b))
	if grow := end - int64(len(c.data)); grow > 0 {
		c.data = append(c.data, make([]byte, grow)...)
	}
	copy(c.data[offset:], b)
	c.size = max(c.size, end)
}

// copy copies the bytes [lo, hi) from another content, as far as both have them.
func (c *content) copy(from *content, lo, hi int64) {
	if hi = min(hi, c.size, from.size); lo < hi {
		b := make([]byte, hi-lo)
		from.read(b, lo)
		c.write(b, lo)
	}
}
