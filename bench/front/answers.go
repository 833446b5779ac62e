package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The nodes of a tree are in the order in which a store first saw their stacks, and answers have fields about the server. So answers are
// compared without these fields, and trees as sets of nodes.

// canonical returns an answer in a form that is equal for equal profiles.
func canonical(answer []byte) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(answer, &fields); err != nil {
		return nil, fmt.Errorf("%w: %.100s", err, answer)
	}
	delete(fields, "commit")
	delete(fields, "touched")
	if raw, has := fields["tree"].(map[string]any); has {
		fields["tree"] = pathsOf(raw)
	}
	if raw, has := fields["flamegraph"].(map[string]any); has {
		levelsOf(raw)
	}
	return json.Marshal(fields)
}

// pathsOf returns the values of a page's tree by path.
func pathsOf(tree map[string]any) map[string]any {
	names, depths, functions := tree["names"].([]any), tree["depth"].([]any), tree["function"].([]any)
	self := tree["self"].([]any)[0].([]any)
	out := map[string]any{"omitted": tree["omitted"]}
	var path []string
	for i, depth := range depths {
		path = append(path[:int(depth.(float64))], names[int(functions[i].(float64))].(string))
		key := strings.Join(path, ";")
		value, _ := out[key].(float64)
		out[key] = value + self[i].(float64)
	}
	return out
}

// levelsOf sorts the levels of Pyroscope's flame graph, in which a node is four numbers: an offset, which depends on the order, its total, its
// own value and its name.
func levelsOf(graph map[string]any) {
	names := graph["names"].([]any)
	for _, level := range graph["levels"].([]any) {
		var nodes []string
		values := level.(map[string]any)["values"].([]any)
		for i := 0; i+3 < len(values); i += 4 {
			name, _ := strconv.Atoi(fmt.Sprint(values[i+3]))
			nodes = append(nodes, fmt.Sprint(values[i+1], values[i+2], names[name]))
		}
		slices.Sort(nodes)
		level.(map[string]any)["values"] = nodes
	}
	delete(graph, "names")
}
