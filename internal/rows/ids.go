package rows

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// IDType returns the type of the id column called name, or 0.
func IDType(name string) encoding.Type {
	switch name {
	case ColumnTraceID:
		return encoding.UUID
	case ColumnSpanID:
		return encoding.Uint64
	}
	return 0
}

// ParseID parses a trace or span id. It accepts lower-case hexadecimal of exactly the type's size,
// because IDText must return the same text.
func ParseID(t encoding.Type, text string) (id uuid.UUID, ok bool) {
	size := len(id)
	if t == encoding.Uint64 {
		size = 8
	}
	if len(text) != 2*size || strings.ContainsAny(text, "ABCDEF") {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(text))
	return id, err == nil
}

// IDText returns an id, a uuid.UUID or a uint64, as text. It is the inverse of ParseID.
func IDText(id any) string {
	switch id := id.(type) {
	case uuid.UUID:
		return hex.EncodeToString(id[:])
	case uint64:
		return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, id))
	}
	return ""
}
