package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/profile"
)

// ErrLimit reports a request beyond a limit of Limits. The text names the limit and its value.
var ErrLimit = errors.New("limit")

// ErrRequest reports a request that cannot be understood. The text names its part.
var ErrRequest = errors.New("invalid request")

// limitError is an ErrLimit with the status of its answer.
type limitError struct {
	status int
	text   string
}

func (e *limitError) Error() string { return e.text }
func (e *limitError) Unwrap() error { return ErrLimit }

// tooLarge returns the error of a request that is larger than a limit.
func tooLarge(format string, args ...any) error {
	return &limitError{http.StatusRequestEntityTooLarge, "limit: " + fmt.Sprintf(format, args...)}
}

// tooMany returns the error of a request that a later one can replace.
func tooMany(format string, args ...any) error {
	return &limitError{http.StatusTooManyRequests, "limit: " + fmt.Sprintf(format, args...)}
}

// tooCostly returns the error of a question whose answer is beyond a limit.
func tooCostly(format string, args ...any) error {
	return &limitError{http.StatusUnprocessableEntity, "limit: " + fmt.Sprintf(format, args...)}
}

// invalid returns an ErrRequest.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRequest, fmt.Errorf(format, args...))
}

// textOf returns the text of an error for answers and logs, in one line of at most 1,000 bytes: errors can
// repeat parts of a request.
func textOf(err error) string {
	const most, end = 1000, "..."
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\n", " "), "\ufffd")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len(end)], "") + end
	}
	return text
}

// formatError is an ErrRequest in a format that is not taken.
type formatError struct{ text string }

func (e *formatError) Error() string { return e.text }
func (e *formatError) Unwrap() error { return ErrRequest }

// unsupported returns the error of a request in a format that is not taken.
func unsupported(format string, args ...any) error {
	return &formatError{"invalid request: " + fmt.Sprintf(format, args...)}
}

// unreadError is an ErrRequest about older profiles that are not in memory.
type unreadError struct{ text string }

func (e *unreadError) Error() string { return e.text }
func (e *unreadError) Unwrap() error { return ErrRequest }

// cause is what an error means to a client: the status of the answer, the code of Connect, and
// the name under which metrics count it.
type cause struct {
	status int
	code   connect.Code
	name   string
}

// causeOf returns the cause of an error.
func causeOf(err error) cause {
	var limit *limitError
	var refusal *connect.Error
	var bytes *http.MaxBytesError
	var format *formatError
	var missing *goneError
	var origin *originError
	var unread *unreadError
	switch {
	case errors.Is(err, ErrNode):
		return cause{http.StatusBadGateway, connect.CodeUnavailable, "node"}
	case errors.As(err, &refusal) && refusal.Code() == connect.CodeUnimplemented:
		return cause{http.StatusNotImplemented, connect.CodeUnimplemented, "unimplemented"}
	case errors.As(err, &refusal) && refusal.Code() == connect.CodeInvalidArgument:
		return cause{http.StatusBadRequest, connect.CodeInvalidArgument, "invalid"}
	case errors.As(err, &missing):
		return cause{http.StatusGone, connect.CodeFailedPrecondition, "gone"}
	case errors.As(err, &unread):
		return cause{http.StatusConflict, connect.CodeFailedPrecondition, "unread"}
	case errors.As(err, &origin):
		return cause{http.StatusForbidden, connect.CodePermissionDenied, "origin"}
	case errors.As(err, &format):
		return cause{http.StatusUnsupportedMediaType, connect.CodeInvalidArgument, "format"}
	case errors.As(err, &limit) && limit.status == http.StatusServiceUnavailable:
		return cause{limit.status, connect.CodeUnavailable, "limit"}
	case errors.As(err, &limit) && limit.status == http.StatusRequestTimeout:
		return cause{limit.status, connect.CodeDeadlineExceeded, "limit"}
	case errors.As(err, &limit):
		return cause{limit.status, connect.CodeResourceExhausted, "limit"}
	case errors.As(err, &bytes), errors.Is(err, profile.ErrTooLarge), errors.Is(err, columnstore.ErrLimit):
		return cause{http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted, "limit"}
	case errors.Is(err, columnstore.ErrQueryMemory), errors.Is(err, ErrLimit):
		return cause{http.StatusUnprocessableEntity, connect.CodeResourceExhausted, "limit"}
	case errors.Is(err, context.DeadlineExceeded):
		return cause{http.StatusUnprocessableEntity, connect.CodeDeadlineExceeded, "limit"}
	case errors.Is(err, context.Canceled):
		return cause{499, connect.CodeCanceled, "canceled"} // the client has gone
	case errors.Is(err, profile.ErrUnknownType), errors.Is(err, errHistory):
		return cause{http.StatusNotFound, connect.CodeNotFound, "not_found"}
	case errors.Is(err, ErrRequest), errors.Is(err, profile.ErrProfile), errors.Is(err, profile.ErrSelector),
		errors.Is(err, profile.ErrAmbiguousType), errors.Is(err, profile.ErrMixed), errors.Is(err, profile.ErrScale),
		errors.Is(err, columnstore.ErrBatch), errors.Is(err, columnstore.ErrQuery), errors.Is(err, columnstore.ErrPast),
		errors.Is(err, columnstore.ErrFuture), errors.Is(err, columnstore.ErrTooOld):
		return cause{http.StatusBadRequest, connect.CodeInvalidArgument, "invalid"}
	case errors.Is(err, columnstore.ErrMemory), errors.Is(err, columnstore.ErrSnapshotExpired):
		return cause{http.StatusServiceUnavailable, connect.CodeUnavailable, "memory"}
	case errors.Is(err, disk.ErrDisk), errors.Is(err, disk.ErrNotDurable):
		return cause{http.StatusServiceUnavailable, connect.CodeUnavailable, "disk"}
	case errors.Is(err, columnstore.ErrClosed):
		return cause{http.StatusServiceUnavailable, connect.CodeUnavailable, "closed"}
	}
	return cause{http.StatusInternalServerError, connect.CodeInternal, "internal"}
}
