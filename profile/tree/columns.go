package tree

// NodeColumns are Nodes in the form of JSON: columns of names and numbers. Totals are not among them: they are the self
// values of a node and of all below it. The names of its JSON fields are stable.
type NodeColumns struct {
	// Names, Files, Lines and Binaries are of functions, as Nodes.Frames has them. Files and Binaries are numbers in
	// Texts.
	Names    []string `json:"names"`
	Files    []int    `json:"files"`
	Lines    []int64  `json:"lines"`
	Binaries []int    `json:"binaries"`
	Texts    []string `json:"texts"`
	// Depth, Function and Self are of nodes in preorder, Self by side.
	Depth    []int32   `json:"depth"`
	Function []uint32  `json:"function"`
	Self     [][]int64 `json:"self"`
	// Groups are those of Nodes, by group.
	Groups [][]int64 `json:"groups,omitempty"`
	// Others are pairs: a node that stands for others, and how many.
	Others [][2]int `json:"others"`
	// All is the number of nodes without the root, had none been left out.
	All int `json:"all"`
}

// Columns returns the columns of a tree with one side or two. They share slices with the nodes.
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
