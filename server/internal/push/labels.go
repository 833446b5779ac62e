package push

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/granarydb/granary/server/internal/fault"
)

// The labels of services that clients of Pyroscope's API expect.
const (
	serviceLabel = "service_name"
	appLabel     = "app_name" // the application's name if the labels have a service_name
)

// pushedLabels returns the labels to store with a pushed profile: labels with a value that are not in
// Options.DropLabels. The error is ErrLimit or ErrRequest.
func (s *Pusher) pushedLabels(labels map[string]string) (map[string]string, error) {
	kept := make(map[string]string, len(labels)+1)
	for name, value := range labels {
		if value == "" || slices.Contains(s.DropLabels, name) {
			continue
		}
		if err := s.checkLabel(name, value); err != nil {
			return nil, err
		}
		kept[name] = value
	}
	if len(kept) > s.Limits.Labels {
		return nil, fault.TooLarge("a profile with %d labels, at most %d", len(kept), s.Limits.Labels)
	}
	return kept, nil
}

// withService returns labels of OTLP, with service.name also as service_name unless that exists, because
// clients of Pyroscope's API look for a service there.
func withService(labels map[string]string) map[string]string {
	service, isNamed := labels["service.name"]
	if _, taken := labels[serviceLabel]; taken || !isNamed {
		return labels
	}
	labels = maps.Clone(labels)
	labels[serviceLabel] = service
	return labels
}

func (s *Pusher) checkLabel(name, value string) error {
	switch {
	case len(name) > s.Limits.LabelName:
		return fault.TooLarge("the name of a label of %d bytes, at most %d: %s", len(name), s.Limits.LabelName, fault.Quoted(name))
	case len(value) > s.Limits.LabelValue:
		return fault.TooLarge("the value of label %s of %d bytes, at most %d", fault.Quoted(name), len(value), s.Limits.LabelValue)
	case name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, isNotPrinted):
		return fault.Invalid("label %s: want a name of printable UTF-8", fault.Quoted(name))
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return fault.Invalid("label %s: its value %s is not UTF-8 without control characters", fault.Quoted(name), fault.Quoted(value))
	}
	return nil
}

func isNotPrinted(r rune) bool { return !unicode.IsPrint(r) }

// parseAppName parses the name of an application with labels: app{region=eu,zone=a}. Names and values
// have no quotes, and surrounding spaces are dropped. A value ends at a comma or brace. The application
// becomes the label service_name, or app_name if the labels have a service_name.
func parseAppName(text string) (map[string]string, error) {
	app, rest, hasLabels := strings.Cut(text, "{")
	app = strings.TrimSpace(app)
	if app == "" {
		return nil, fault.Invalid("name: want the name of an application, such as api or api{region=eu}, not %s", fault.Quoted(text))
	}
	labels := map[string]string{}
	if hasLabels {
		body, after, closed := strings.Cut(rest, "}")
		if !closed || strings.TrimSpace(after) != "" {
			return nil, fault.Invalid("name: labels do not end with a brace in %s", fault.Quoted(text))
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
			return fault.Invalid("name: want labels such as region=eu, not %s", fault.Quoted(pair))
		}
		if _, twice := labels[name]; twice {
			return fault.Invalid("name: label %s is given twice", fault.Quoted(name))
		}
		labels[name] = value
	}
	return nil
}
