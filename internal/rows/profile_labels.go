package rows

import (
	"fmt"
	"strings"

	"github.com/granarydb/granary/encoding"
	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// placeLabels assigns labels to columns. It returns the bytes of all labels.
func (f *Profile) placeLabels() (bytes int, err error) {
	if len(f.Labels) == 0 {
		return 0, nil
	}
	f.columns.start(len(f.Strings), len(f.Labels))
	at := 0
	for i, s := range f.Samples {
		for ; at < int(s.Labels); at++ {
			l := &f.Labels[at]
			f.cutText(l)
			n := f.labelName(l)
			if n.sample != i+1 {
				n.sample, n.first, n.count = i+1, at, 0
			}
			if err := f.placeLabel(at, n); err != nil {
				return 0, err
			}
			n.count++
			bytes += len(n.text) + 16
			if l.IsText {
				bytes += len(f.Strings[l.Text]) - 16
			}
			if bytes > MaxLabelBytes {
				return 0, fmt.Errorf("%w: more than %d bytes of labels", codec.ErrTooLarge, MaxLabelBytes)
			}
		}
	}
	return bytes, nil
}

// cutMark ends a text that was cut.
const cutMark = "\u2026"

// cutText cuts a label's text that no column can have, at a character, and marks it.
func (f *Profile) cutText(l *codec.FlatLabel) {
	text := f.Strings[l.Text]
	if len(text) <= schema.MaxString || !l.IsText {
		return
	}
	f.Strings[l.Text] = strings.ToValidUTF8(text[:schema.MaxString-len(cutMark)], "") + cutMark
	f.Mended++
}

// sameText returns the string that stands for all strings with the text of s.
func (f *Profile) sameText(s uint32) uint32 {
	first, known := f.columns.byText[f.Strings[s]]
	if !known {
		first = s
		f.columns.byText[f.Strings[s]] = s
	}
	return first
}

// labelName returns a label's name.
func (f *Profile) labelName(l *codec.FlatLabel) *labelName {
	c, kind := &f.columns, 0
	if l.IsText {
		kind = 1
	}
	of := c.nameOf[kind]
	if of[l.Name] == 0 {
		same := f.sameText(l.Name)
		if of[same] == 0 {
			n := labelName{index: uint32(len(c.names)), text: f.Strings[same], isText: l.IsText}
			if l.IsText {
				n.id = IDType(n.text)
			}
			c.names = append(c.names, n)
			of[same] = uint32(len(c.names))
		}
		of[l.Name] = of[same]
	}
	return &c.names[of[l.Name]-1]
}

// placeLabel sets the column of label i, which is label n.count of its name in the sample. An id that is
// the label's only value goes to an id column, because ids differ row by row and would only make a
// dictionary grow.
func (f *Profile) placeLabel(i int, n *labelName) (err error) {
	l, of := &f.Labels[i], f.columns.of
	if n.count == MaxValues {
		return fmt.Errorf("%w: label %q has more than %d values in one sample", codec.ErrTooLarge, n.text, MaxValues)
	}
	unit := l.Text
	if l.IsText {
		unit = 0
	}
	if n.count == 0 && n.hasColumn && n.unit == unit && n.id == 0 {
		of[i] = n.column
		return nil
	}
	if n.count == 0 && n.id != 0 {
		if _, ok := ParseID(n.id, f.Strings[l.Text]); ok {
			of[i], err = f.column(l, n, columnID)
			return err
		}
	}
	if n.count == 1 && n.id != 0 { // the first value is not the only value
		if of[n.first], err = f.column(&f.Labels[n.first], n, 0); err != nil {
			return err
		}
	}
	if of[i], err = f.column(l, n, n.count); err == nil && n.count == 0 {
		n.unit, n.column, n.hasColumn = unit, of[i], true
	}
	return err
}

// column returns the column of the k-th value of a label, and adds it if it is new.
func (f *Profile) column(l *codec.FlatLabel, n *labelName, k uint32) (uint32, error) {
	c, key := &f.columns, columnKey{name: n.index, k: k}
	if !n.isText {
		key.unit = f.sameText(l.Text)
	}
	column, known := c.byKey[key]
	if known {
		return column, nil
	}
	if len(c.list) == schema.MaxDynamic {
		return 0, fmt.Errorf("%w: more than %d distinct labels", codec.ErrTooLarge, schema.MaxDynamic)
	}
	made := labelValues{values: encoding.Vector{Type: encoding.Int64}}
	switch {
	case k == columnID:
		made.name, made.values.Type = n.text, n.id
	case n.isText:
		made.name, made.values.Type = LabelColumn(ColumnPprofLabels, n.text, int(k)), encoding.String
	default:
		made.name = NumLabelColumn(n.text, f.Strings[l.Text], int(k))
	}
	column = uint32(len(c.list))
	c.byKey[key] = column
	c.list = append(c.list, made)
	return column, nil
}

// columnID is the k of an id column.
const columnID = MaxValues
