package history

import "errors"

// Errors of writes and reads. The attribute and the time are in the text of the error
// that wraps one of these. An error means that nothing happened.
var (
	// ErrAttribute says that there is no such attribute.
	ErrAttribute = errors.New("unknown attribute")
	// ErrTime says that a time is outside of the history, before what the attribute is
	// at, or final: a commit ends the writing of every instant that it has.
	ErrTime = errors.New("time out of order or range")
	// ErrKind says that a value is not of the kind that the attribute has.
	ErrKind = errors.New("value of another kind")
	// ErrFeed says that an attribute that is fed by Change was given a closed interval,
	// or the other way round.
	ErrFeed = errors.New("attribute is fed otherwise")
	// ErrLimit says that a name or value is too long, not text, or that there are too
	// many of them.
	ErrLimit = errors.New("beyond a limit")
	// ErrDepth says that a stack or queue is full, or that its depth has no such child.
	ErrDepth = errors.New("invalid depth")
	// ErrClosed says that the history is closed: it takes no writes any more.
	ErrClosed = errors.New("history is closed")
	// ErrBusy says that another writer of the history has not ended.
	ErrBusy = errors.New("history has a writer")
	// ErrDone says that the writer was committed or aborted before.
	ErrDone = errors.New("writer has ended")
	// ErrQuery says that a question makes no sense: a range that ends before it
	// begins, a negative resolution, a number of pixels that is not positive.
	ErrQuery = errors.New("invalid question")
)
