package tree

// NodeColumns is Nodes as columns of names and numbers, for JSON. It omits totals, because a total is the
// sum of the self values of a node and of all nodes below it. Its JSON field names are stable.
type NodeColumns struct {
	// Names, Files, Lines and Binaries describe functions, in the order of Nodes.Frames. Files and
	// Binaries are indexes in Texts.
	Names    []string `json:"names"`
	Files    []int    `json:"files"`
	Lines    []int64  `json:"lines"`
	Binaries []int    `json:"binaries"`
	Texts    []string `json:"texts"`
	// Depth, Function and Self describe nodes in preorder. Self is by side.
	Depth    []int32   `json:"depth"`
	Function []uint32  `json:"function"`
	Self     [][]int64 `json:"self"`
	// Groups is Nodes.Groups.
	Groups [][]int64 `json:"groups,omitempty"`
	// Others has pairs: the index of a node that stands for others, and their number.
	Others [][2]int `json:"others"`
	// All is the number of nodes in the whole tree, without the root.
	All int `json:"all"`
}

// Columns returns the columns of a tree with `sides` sides, 1 or 2. They share slices with the nodes.
func (n *Nodes) Columns(sides int) *NodeColumns {
	out := &NodeColumns{Texts: []string{""}, Depth: n.Depth, Function: n.Frame, Groups: n.Groups, Others: [][2]int{}, All: n.All}
	numbers := map[string]int{"": 0}
	number := func(text string) int {
		i, known := numbers[text]
		if !known {
			i = len(out.Texts)
			numbers[text], out.Texts = i, append(out.Texts, text)
		}
		return i
	}
	for _, f := range n.Frames {
		out.Names, out.Lines = append(out.Names, f.Function), append(out.Lines, f.Line)
		out.Files, out.Binaries = append(out.Files, number(f.File)), append(out.Binaries, number(f.Mapping))
	}
	for side := range sides {
		out.Self = append(out.Self, n.Self[side])
	}
	for _, o := range n.Others {
		out.Others = append(out.Others, [2]int{o.At, o.Nodes})
	}
	return out
}
