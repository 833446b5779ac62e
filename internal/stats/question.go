package stats

import (
	"context"
	"errors"
	"fmt"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/attrpath"
)

var (
	// ErrLimit is returned for an answer that exceeds Question.MaxBytes, or times whose sum exceeds 2^64 ns.
	ErrLimit = errors.New("limit exceeded")
	// ErrQuestion is returned for a question without an answer.
	ErrQuestion = errors.New("invalid question")
)

// Ranger is a history: union.Member is one.
type Ranger interface {
	// RangeAll calls f with the intervals of attributes that overlap a range of instants, both ends included: those of
	// an attribute in the order of time.
	RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error
}

// Question is what is asked.
type Question struct {
	Attributes []history.Attribute
	From, To   int64       // both included
	End        int64       // the last instant of the history: what ended a wait at To is behind it. Less than To is To.
	By         []Criterion // at most MaxCriteria; without one all is one group
	MaxBytes   int64       // 0 is no limit
}

// MaxCriteria is the most keys of a question.
const MaxCriteria = 3

// Criterion is what the intervals of a group have in common.
type Criterion struct {
	text    string
	is      keyKind
	pattern attrpath.Pattern
}

type keyKind uint8

const (
	byState keyKind = iota
	byAttribute
	byOther
	byWaker
)

// ParseCriteria parses keys with commas between them. A key is state, attribute, waker, or a pattern that leads from an attribute
// to another one, whose state meanwhile is the key: null, if it leads to none, and of several the first. The key waker is the number of
// what ended a wait, as the names of attributes have it, NoWaker for a timer, the network or the system, and null for another state, a wait
// that did not end or that another wait follows, and an attribute of which the history does not tell. A backslash before a comma makes it a
// part of a name. The names of the first three hide patterns of the same text.
func ParseCriteria(text string) ([]Criterion, error) {
	var keys []Criterion
	begin, isEscaped := 0, false
	for i := range len(text) + 1 {
		if i < len(text) && (isEscaped || text[i] != ',') {
			isEscaped = !isEscaped && text[i] == '\\'
			continue
		}
		key, err := parseKey(text[begin:i])
		if err != nil {
			return nil, err
		}
		keys, begin = append(keys, key), i+1
	}
	if len(keys) > MaxCriteria {
		return nil, fmt.Errorf("%w: %d keys, at most %d", ErrQuestion, len(keys), MaxCriteria)
	}
	return keys, nil
}

func parseKey(text string) (Criterion, error) {
	k := Criterion{text: text}
	switch text {
	case "state":
		return k, nil
	case "attribute":
		k.is = byAttribute
		return k, nil
	case "waker":
		k.is, text = byWaker, wakerChild
	default:
		k.is = byOther
	}
	var err error
	if k.pattern, err = attrpath.ParsePattern(text); err != nil {
		return k, fmt.Errorf("%w: a key is state, attribute, waker, or a pattern such as function: %w", ErrQuestion, err)
	}
	return k, nil
}

// String returns the text that was parsed.
func (k Criterion) String() string { return k.text }

// IsAttribute reports whether the values of the key are numbers of attributes.
func (k Criterion) IsAttribute() bool { return k.is == byAttribute }
