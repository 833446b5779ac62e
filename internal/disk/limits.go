package disk

import "time"

const (
	// maxBody bounds an entry's bytes, because a reader needs it whole in memory.
	maxBody = 1 << 30
	// leastSegment is the least size of a segment, for tests: a header and a few entries.
	leastSegment = headerSector + 1024
	// bufferSize is the bytes in a read or write. Larger buffers gain nothing on the page cache.
	bufferSize = 256 << 10
	// writeBytes and writeAfter bound the loss if the process dies and the machine does not: an
	// entry is written once it is writeAfter old, or once writeBytes wait.
	writeBytes = 256 << 10
	writeAfter = 10 * time.Millisecond
	// retryAfter is the time between attempts while the disk fails.
	retryAfter = time.Second
)
