package push

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// The labels of services that clients of Pyroscope's API expect.
const (
	serviceLabel = "service_name"
	appLabel     = "app_name" // the application's name if the labels have a service_name
	spyLabel     = "pyroscope_spy"

	unknownService = "unknown_service" // the service_name of a profile that is pushed without one
)

// deltaLabel is "false" for profiles that an agent has subtracted already: the server makes no difference of them. It is not stored.
const deltaLabel = "__delta__"

// pushedLabels returns the labels to store with a pushed profile: labels with a value that are not in
// Options.DropLabels, and a service_name, because clients of Pyroscope's API look for a service there: the application's
// name, service.name of OTLP, or unknown_service. Values are mended. The error is ErrLimit or ErrRequest.
func (s *Pusher) pushedLabels(labels map[string]string) (map[string]string, error) {
	kept := make(map[string]string, len(labels)+1)
	for name, value := range labels {
		if value == "" || name == deltaLabel || slices.Contains(s.DropLabels, name) {
			continue
		}
		if err := s.checkName(name); err != nil {
			return nil, err
		}
		kept[name] = s.mend(value)
	}
	if len(kept) > s.Limits.Labels {
		return nil, fault.TooLarge("a profile with %d labels, at most %d", len(kept), s.Limits.Labels)
	}
	if kept[serviceLabel] == "" && !slices.Contains(s.DropLabels, serviceLabel) {
		kept[serviceLabel] = cmp.Or(kept[appLabel], kept["service.name"], unknownService)
	}
	return kept, nil
}

// checkName checks the name of a label.
func (s *Pusher) checkName(name string) error {
	switch {
	case len(name) > s.Limits.LabelName:
		return fault.TooLarge("the name of a label of %d bytes, at most %d: %s", len(name), s.Limits.LabelName, fault.Quoted(name))
	case name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, isNotPrinted):
		return fault.Invalid("label %s: want a name of printable UTF-8", fault.Quoted(name))
	}
	return nil
}

// cutMark ends a value that was cut.
const cutMark = "…"

// mend returns a label's value that can be stored and asked for: bytes that are not UTF-8 and control characters become
// U+FFFD, and a value over Limits.LabelValue is cut at a character and ends with cutMark. Values such as a URL or the
// text of a statement are often cut by their sender in the middle of a character. The profile is worth more than they.
func (s *Pusher) mend(value string) string {
	if len(value) <= s.Limits.LabelValue && utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl) {
		return value
	}
	s.hasMended(1)
	value = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, value[:min(len(value), s.Limits.LabelValue+utf8.UTFMax)]) // Map returns U+FFFD for what is not UTF-8
	if len(value) <= s.Limits.LabelValue {
		return value
	}
	return strings.ToValidUTF8(value[:max(0, s.Limits.LabelValue-len(cutMark))], "") + cutMark
}

// hasMended counts mended strings.
func (s *Pusher) hasMended(n int) { s.mended.Add(int64(n)) }

// Mended returns how many labels and messages of pushes were mended, because they were not UTF-8 or too long. Those inside
// of profiles are in profile.DB.Mended.
func (s *Pusher) Mended() int64 { return s.mended.Load() }

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

// readLabels reads the part labels of a recording of Java: Pyroscope's message LabelsSnapshot, gzipped or not.
func (s *Pusher) readLabels(part io.Reader, sh *share) (*format.JFRLabels, error) {
	data, err := s.readAll(part)
	if err == nil {
		data, err = sh.inflate(data, s.Limits.Profile.Bytes)
	}
	if err == nil {
		err = sh.take(parsedFactor * int64(len(data)))
	}
	if err != nil {
		return nil, err
	}
	out := &format.JFRLabels{Contexts: map[int64]map[int64]int64{}, Strings: map[int64]string{}}
	for f, err := range web.Fields(data) {
		if err != nil {
			return nil, fault.Invalid("part labels: %w", err)
		}
		switch id, value := entryOf(f); f.Number {
		case fieldContexts:
			labels := map[int64]int64{}
			for f, err := range web.Fields(value.Bytes()) {
				if err != nil {
					return nil, fault.Invalid("part labels: %w", err)
				}
				name, text := entryOf(f)
				labels[name] = int64(text.Varint())
			}
			out.Contexts[id] = labels
		case fieldStrings:
			out.Strings[id] = strings.ToValidUTF8(string(value.Bytes()), string(utf8.RuneError))
		}
	}
	return out, nil
}

// Fields of LabelsSnapshot, whose maps have entries with a key and a value.
const (
	fieldContexts protowire.Number = 1
	fieldStrings  protowire.Number = 2
	fieldKey      protowire.Number = 1
	fieldValue    protowire.Number = 2
)

// entryOf returns an entry of a map whose keys are numbers.
func entryOf(f web.Field) (key int64, value web.Field) {
	for in, err := range web.Fields(f.Bytes()) {
		switch {
		case err != nil:
		case in.Number == fieldKey:
			key = int64(in.Varint())
		case in.Number == fieldValue:
			value = in
		}
	}
	return key, value
}

// kindOf returns the label __name__ for profiles that are pushed without one: Pyroscope's name for Go's
// types, otherwise the last sample type. Mutex and block profiles have the same types: hint tells them
// apart, and without a hint they get no name.
func kindOf(types []string, period, hint string) string {
	has := func(name string) bool {
		return slices.ContainsFunc(types, func(t string) bool { return profile.KnownSample(t) == name })
	}
	switch {
	case len(types) == 0:
		return ""
	case has("cpu"), has("samples") && (period == "cpu" || len(types) == 1):
		return "process_cpu"
	case has("inuse_space"), has("inuse_objects"), has("alloc_space"), has("alloc_objects"):
		return "memory"
	case has("contentions"), has("delay"):
		return hint
	case has("wall"):
		return "wall"
	}
	return types[len(types)-1]
}

// hintOf returns the hint in a file's name, such as mutex-1.pb.gz, or "".
func hintOf(origin string) string {
	words := strings.FieldsFunc(strings.ToLower(origin), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, kind := range []string{"mutex", "block"} {
		if slices.Contains(words, kind) {
			return kind
		}
	}
	return ""
}

// maxKindTypes bounds the sample types that kindOf reads, and maxKindName the bytes of their names.
// Profiles have one to four types, with names of one or two words.
const (
	maxKindTypes = 16
	maxKindName  = 200
)

// Fields of the protobuf messages of pprof.
const (
	fieldSampleType  protowire.Number = 1
	fieldStringTable protowire.Number = 6
	fieldPeriodType  protowire.Number = 11
	fieldTypeName    protowire.Number = 1
)

// typesOf returns the names of the sample types and of the period type in an encoded profile that is not
// gzipped. It skips everything else, so it costs about 10 ns a sample. For malformed bytes it returns the
// types before the error.
func typesOf(data []byte) (types []string, period string) {
	indices := []uint64{0} // string indexes of the period type and the sample types
	for f, err := range web.Fields(data) {
		switch {
		case err != nil || f.Type != protowire.BytesType:
		case f.Number == fieldSampleType && len(indices) <= maxKindTypes:
			indices = append(indices, typeName(f.Bytes()))
		case f.Number == fieldPeriodType:
			indices[0] = typeName(f.Bytes())
		}
	}
	names, at := make([]string, len(indices)), uint64(0)
	for f, err := range web.Fields(data) {
		if err != nil || f.Type != protowire.BytesType || f.Number != fieldStringTable {
			continue
		}
		value := f.Bytes()
		for i, index := range indices {
			if index == at && len(value) <= maxKindName {
				names[i] = string(value)
			}
		}
		at++
	}
	return names[1:], names[0]
}

// typeName returns the index of an encoded type's name.
func typeName(data []byte) (index uint64) {
	for f, err := range web.Fields(data) {
		if err == nil && f.Number == fieldTypeName && f.Type == protowire.VarintType {
			index = f.Varint()
		}
	}
	return index
}
