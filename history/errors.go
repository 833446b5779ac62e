package history

import "errors"

// Errors of writes and reads. The error that wraps one of these names the attribute and the
// time. An error means that nothing happened.
var (
	// ErrAttribute is returned for an unknown attribute.
	ErrAttribute = errors.New("unknown attribute")
	// ErrTime is returned for a time outside of the history, before the attribute's
	// ongoing interval, or final: a commit makes its instants final.
	ErrTime = errors.New("time out of order or range")
	// ErrKind is returned for a value of another kind than the attribute's.
	ErrKind = errors.New("value of another kind")
	// ErrFeed is returned for a closed interval of an attribute that Change feeds, or the
	// other way round.
	ErrFeed = errors.New("attribute is fed otherwise")
	// ErrLimit is returned for a name or value that is too long or no text, and when there
	// are too many of them.
	ErrLimit = errors.New("beyond a limit")
	// ErrDepth is returned for a full stack or queue, or one whose depth has no such child.
	ErrDepth = errors.New("invalid depth")
	// ErrClosed is returned for writes to a closed history.
	ErrClosed = errors.New("history is closed")
	// ErrBusy is returned while another writer of the history has not ended.
	ErrBusy = errors.New("history has a writer")
	// ErrDone is returned by a writer that was committed or aborted.
	ErrDone = errors.New("writer has ended")
	// ErrQuery is returned for an invalid question: a range that ends before it begins, a
	// negative resolution, a number of pixels that is not positive.
	ErrQuery = errors.New("invalid question")
)
