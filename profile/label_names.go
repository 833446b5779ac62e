package profile

import (
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/rows"
)

// profileIDLabel is the label of samples that Pyroscope's SDKs write the id of a span into.
const profileIDLabel = "profile_id"

// UnderscoreLabel returns the name of a label as Prometheus writes it where only letters, digits and underscores are allowed:
// otel_scope_version for otel.scope.version. Selectors, groups and DB.LabelValues find the label by both names.
func UnderscoreLabel(name string) string {
	at := 0
	return strings.Map(func(r rune) rune {
		first := at == 0
		at++
		if r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' && !first {
			return r
		}
		return '_'
	}, name)
}

// Resolve returns q with a selector that finds the labels of a snapshot's profiles by all their names. The methods of a DB that
// answer a Query do so themselves. Query.Expr, which has no snapshot, does not.
func (db *DB) Resolve(snap *columnstore.Snapshot, q Query) Query {
	var resolved []matcher
	for i, m := range q.Selector.matchers {
		others := db.otherNames(snap, m.Name)
		if len(others) == 0 {
			continue
		}
		if resolved == nil {
			resolved = slices.Clone(q.Selector.matchers)
		}
		resolved[i].others = others
	}
	if resolved != nil {
		q.Selector.matchers = resolved
	}
	return q
}

// otherNames returns the other names of the labels that a name stands for. After an error of the snapshot there are none, because
// the question that follows gets the error too.
func (db *DB) otherNames(snap *columnstore.Snapshot, name string) (others []string) {
	if !strings.Contains(name, "_") || UnderscoreLabel(name) != name {
		return nil
	}
	columns, err := db.table.Columns(snap)
	if err != nil {
		return nil
	}
	ids := map[string]string{ColumnSpanID: profileIDLabel, profileIDLabel: ColumnSpanID}
	for _, column := range columns {
		label, isLabel := strings.CutPrefix(column, ColumnLabels+".")
		if !isLabel {
			if label, isLabel = strings.CutPrefix(column, ColumnPprofLabels+"."); !isLabel {
				continue
			}
			label, _, _ = rows.CutNumber(label)
		}
		if label != name && (label == ids[name] || UnderscoreLabel(label) == name) && !slices.Contains(others, label) {
			others = append(others, label)
		}
	}
	slices.Sort(others)
	return others
}
