package input

import (
	"fmt"
	"path/filepath"
	"strings"
)

// FolderLabels returns the labels in a file's name: one for each folder named NAME=VALUE, as in
// job=api/pod=x/cpu.pb.gz, the layout of Hive partitions. If a name repeats, the innermost folder wins. The
// result is nil without such folders, and for a URL.
func FolderLabels(name string) map[string]string {
	if IsURL(name) {
		return nil
	}
	var labels map[string]string
	for folder := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(name)), "/") {
		label, value, ok := strings.Cut(strings.ToValidUTF8(folder, "\ufffd"), "=")
		if !ok || !isLabelName(label) || value == "" {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[label] = value
	}
	return labels
}

// isLabelName reports whether the text before the = is a label name: letters, digits, underscores, dots and
// dashes, with no digit or dash first.
func isLabelName(text string) bool {
	for i, r := range text {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		inner := i > 0 && (r == '.' || r == '-' || '0' <= r && r <= '9')
		if !letter && !inner {
			return false
		}
	}
	return text != ""
}

// Labels makes labels that distinguish the rows of different inputs. It is not safe for concurrent use.
type Labels struct {
	times map[string]int
}

// Of returns an input's label: its name, with U+FFFD for what is not UTF-8. A repeated name is another input, and gets the number of
// its occurrence as a suffix.
func (l *Labels) Of(name string) string {
	text := strings.ToValidUTF8(name, "\ufffd")
	if l.times == nil {
		l.times = map[string]int{}
	}
	label := text
	for l.times[label] > 0 { // a name can equal the suffixed label of another
		l.times[text]++
		label = fmt.Sprintf("%s (%d)", text, l.times[text])
	}
	l.times[label] = 1
	return label
}
