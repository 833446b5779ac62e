package names

import (
	"slices"
	"strings"
)

// PathText returns a path of names as one text, unique to that path. "/" stands between names. A backslash
// stands before characters with a meaning in patterns and paths, "/", "\" and "*", and before "..". Only
// the empty path, of Top, and the path with one empty name are both "". Package trace has the inverse,
// ParsePath.
func PathText(path []string) string {
	var out []byte
	for i, name := range path {
		if i > 0 {
			out = append(out, '/')
		}
		out = appendName(out, name)
	}
	return string(out)
}

// AppendPath appends an attribute's PathText to dst. It allocates only for dst. The error is ErrAttribute.
// It costs some 20 ns a name and 1 ns a byte.
func (n Names) AppendPath(dst []byte, a Attribute) ([]byte, error) {
	at, err := n.node(a)
	if err != nil {
		return dst, err
	}
	const usual = 16
	var room [usual]uint32
	nodes := room[:0]
	for ; at != 0; at = n.t.node(at).parent.Load() {
		nodes = append(nodes, at)
	}
	for i, node := range slices.Backward(nodes) {
		if i < len(nodes)-1 {
			dst = append(dst, '/')
		}
		dst = appendName(dst, n.t.text(node))
	}
	return dst, nil
}

// appendName appends a name in a path. Names are UTF-8, so a byte below 128 is a character.
func appendName[T string | []byte](dst []byte, name T) []byte {
	if string(name) == ".." {
		return append(dst, `\..`...)
	}
	for i := range len(name) {
		if strings.IndexByte(`/\*{}`, name[i]) >= 0 {
			dst = append(dst, '\\')
		}
		dst = append(dst, name[i])
	}
	return dst
}
