package server

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The labels of services, as the readers of Pyroscope's API expect them.
const (
	serviceLabel = "service_name"
	appLabel     = "app_name" // the name of an application whose labels have a service_name
)

// pushedLabels returns the labels that a pushed profile is stored with: those with a value, and
// not on the list of Options.DropLabels. An error is ErrLimit or ErrRequest.
func (s *Server) pushedLabels(labels map[string]string) (map[string]string, error) {
	kept := make(map[string]string, len(labels)+1)
	for name, value := range labels {
		if value == "" || slices.Contains(s.opts.DropLabels, name) {
			continue
		}
		if err := s.checkLabel(name, value); err != nil {
			return nil, err
		}
		kept[name] = value
	}
	if len(kept) > s.limits.Labels {
		return nil, tooLarge("a profile with %d labels, at most %d", len(kept), s.limits.Labels)
	}
	return kept, nil
}

// withService returns labels of OTLP with service.name as the label service_name too, unless they
// have one: clients of Pyroscope's API look for a service there.
func withService(labels map[string]string) map[string]string {
	service, isNamed := labels["service.name"]
	if _, taken := labels[serviceLabel]; taken || !isNamed {
		return labels
	}
	labels = maps.Clone(labels)
	labels[serviceLabel] = service
	return labels
}

// checkLabel checks one label.
func (s *Server) checkLabel(name, value string) error {
	switch {
	case len(name) > s.limits.LabelName:
		return tooLarge("the name of a label of %d bytes, at most %d: %s", len(name), s.limits.LabelName, quoted(name))
	case len(value) > s.limits.LabelValue:
		return tooLarge("the value of label %s of %d bytes, at most %d", quoted(name), len(value), s.limits.LabelValue)
	case name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, isNotPrinted):
		return invalid("label %s: want a name of printable UTF-8", quoted(name))
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return invalid("label %s: its value %s is not UTF-8 without control characters", quoted(name), quoted(value))
	}
	return nil
}

func isNotPrinted(r rune) bool { return !unicode.IsPrint(r) }

// parseAppName parses the name of an application with labels: app{region=eu,zone=a}. Names and
// values are without quotes and the spaces around them. A value ends at a comma or brace. The
// application becomes the label service_name, or app_name if the labels have a service_name.
func parseAppName(text string) (map[string]string, error) {
	app, rest, hasLabels := strings.Cut(text, "{")
	app = strings.TrimSpace(app)
	if app == "" {
		return nil, invalid("name: want the name of an application, such as api or api{region=eu}, not %s", quoted(text))
	}
	labels := map[string]string{}
	if hasLabels {
		body, after, closed := strings.Cut(rest, "}")
		if !closed || strings.TrimSpace(after) != "" {
			return nil, invalid("name: labels do not end with a brace in %s", quoted(text))
		}
		if err := parseLabels(labels, body); err != nil {
			return nil, err
		}
	}
	if _, isNamed := labels[serviceLabel]; !isNamed {
		labels[serviceLabel] = app
	} else if _, taken := labels[appLabel]; !taken {
		labels[appLabel] = app
	}
	return labels, nil
}

// parseLabels parses region=eu,zone=a.
func parseLabels(labels map[string]string, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return invalid("name: want labels such as region=eu, not %s", quoted(pair))
		}
		if _, twice := labels[name]; twice {
			return invalid("name: label %s is given twice", quoted(name))
		}
		labels[name] = value
	}
	return nil
}
