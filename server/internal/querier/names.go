package querier

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
)

// allowsUTF8 reports whether a client takes names of labels with any characters. Others get underscored ones, which a selector can
// name without quotes.
func allowsUTF8(h http.Header) bool {
	return slices.ContainsFunc(h.Values("Accept"), func(v string) bool { return strings.Contains(v, fanout.AllowUTF8) })
}

// labelNames returns the names of labels, as the client with a request's headers takes them.
func (q *querier) labelNames(ctx context.Context, h http.Header, m *typesv1.LabelNamesRequest) ([]string, error) {
	names, err := q.Source.LabelNames(ctx, m)
	if !allowsUTF8(h) {
		names = underscored(names)
	}
	return names, err
}

// underscored returns sorted names of labels as Prometheus writes them.
func underscored(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = profile.UnderscoreLabel(name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// underscoreSets writes the names in sets of labels as Prometheus does. Where two become one, a label that has the name already
// counts.
func underscoreSets(sets []*typesv1.Labels) {
	for _, set := range sets {
		has := map[string]bool{}
		for _, l := range set.GetLabels() {
			has[l.GetName()] = true
		}
		set.Labels = slices.DeleteFunc(set.Labels, func(l *typesv1.LabelPair) bool {
			name := profile.UnderscoreLabel(l.GetName())
			if name == l.GetName() {
				return false
			}
			known := has[name]
			l.Name, has[name] = name, true
			return known
		})
		slices.SortFunc(set.Labels, func(a, b *typesv1.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	}
}
