package disk

import "time"

const (
	// maxBody is the most bytes of an entry: a reader needs it in memory whole.
	maxBody = 1 << 30
	// leastSegment is the least size of a segment, for tests: a header and a few entries.
	leastSegment = headerSector + 1024
	// bufferSize is how much is read or written at once. Larger ones gain nothing on the
	// page cache.
	bufferSize = 256 << 10
	// writeBytes and writeAfter bound the loss if the process dies and the machine does not: an
	// entry is written once it is so old, or once so many bytes wait.
	writeBytes = 256 << 10
	writeAfter = 10 * time.Millisecond
	// retryAfter is the time between attempts while the disk fails.
	retryAfter = time.Second
)
