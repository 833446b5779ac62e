package history

import (
	"errors"

	"github.com/granarydb/granary/internal/names"
)

// Errors of writes and reads. The error that wraps one of these names the attribute and the
// time. An error means that nothing happened.
var (
	// ErrAttribute is returned for an unknown attribute.
	ErrAttribute = names.ErrAttribute
	// ErrTime is wrapped by the four errors of times.
	ErrTime = errors.New("time out of order or range")
	// ErrOutside is returned by reads of an instant outside of the view.
	ErrOutside error = timeError("time outside of the view")
	// ErrOrder is returned for a time before the attribute's ongoing interval, or before a
	// write that must not be later. The transaction can go on with later times.
	ErrOrder error = timeError("time out of order")
	// ErrFinal is returned for a time that a commit made final.
	ErrFinal error = timeError("time is final")
	// ErrGap is returned for a closed interval that does not begin where the one before it
	// ended, or that ends before it begins.
	ErrGap error = timeError("interval out of place")
	// ErrKind is returned for a value of another kind than the attribute's.
	ErrKind = errors.New("value of another kind")
	// ErrFeed is returned for a closed interval of an attribute that Change feeds, or the
	// other way round.
	ErrFeed = errors.New("attribute is fed otherwise")
	// ErrLimit is returned for a name or value that is too long or no text, and when there
	// are too many of them.
	ErrLimit = names.ErrLimit
	// ErrDepth is returned for a full stack or queue, or one whose depth has no such child.
	ErrDepth = errors.New("invalid depth")
	// ErrClosed is returned for writes to a closed history.
	ErrClosed = errors.New("history is closed")
	// ErrBusy is returned while another writer of the history has not ended.
	ErrBusy = errors.New("history has a writer")
	// ErrDone is returned by a writer that was committed or aborted.
	ErrDone = errors.New("writer has ended")
	// ErrJournal is returned for bytes that are no journal, or one of other commits than those that
	// follow.
	ErrJournal = errors.New("invalid journal")
	// ErrImage is returned for bytes that are no image of a history.
	ErrImage = errors.New("invalid image of a history")
	// ErrQuery is returned for an invalid question: a range that ends before it begins, a
	// negative resolution, a number of pixels that is not positive.
	ErrQuery = names.ErrQuery
)

// timeError is a cause of ErrTime.
type timeError string

// Error returns the cause.
func (e timeError) Error() string { return string(e) }

// Unwrap returns ErrTime.
func (e timeError) Unwrap() error { return ErrTime }
