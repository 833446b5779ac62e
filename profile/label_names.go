package profile

import (
	"math"
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
	return (&labelNames{db: db, snap: snap, q: q}).resolve()
}

// labelNames finds the names of the labels in a query's profiles. They are read from the store once, for the first name that can
// stand for others, and only from the query's times, because a store has many buckets.
type labelNames struct {
	db     *DB
	snap   *columnstore.Snapshot
	q      Query // for its times and selector
	isRead bool
	all    []string
}

// resolve returns the query with the other names of labels in its selector.
func (n *labelNames) resolve() Query {
	q := n.q
	q.namer = n.db.namer
	var resolved []matcher
	for i, m := range q.Selector.matchers {
		others := n.others(m.Name)
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

// others returns the other names of the labels that a name stands for, sorted.
func (n *labelNames) others(name string) (others []string) {
	if !strings.Contains(name, "_") || UnderscoreLabel(name) != name {
		return nil
	}
	ids := map[string]string{ColumnSpanID: profileIDLabel, profileIDLabel: ColumnSpanID}
	for _, label := range n.read() {
		if label != name && (label == ids[name] || UnderscoreLabel(label) == name) {
			others = append(others, label)
		}
	}
	return others
}

// read returns the names of all labels, sorted. After an error of the snapshot there are none, because the question that follows
// gets the error too.
func (n *labelNames) read() []string {
	if n.isRead {
		return n.all
	}
	n.isRead = true
	to := n.q.To
	if to == 0 {
		to = math.MaxInt64
	}
	from := n.q.From
	if from == 0 {
		from = math.MinInt64
	}
	for _, family := range []string{ColumnLabels, ColumnPprofLabels} {
		columns, _ := n.db.table.ColumnsOf(n.snap, family, from, to)
		for _, column := range columns {
			label := column[len(family)+1:]
			if family == ColumnPprofLabels {
				label, _, _ = rows.CutNumber(label)
			}
			n.all = append(n.all, label)
		}
	}
	slices.Sort(n.all)
	n.all = slices.Compact(n.all)
	return n.all
}
