package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode"

	"github.com/granarydb/granary/profile"
)

// The geometry of both pictures, in pixels.
const (
	margin     = 10   // left and right of the plot
	lineHeight = 18   // from one line of text to the next
	titleChar  = 10.5 // width of a character of the title

	maxWidth = 20_000 // greatest width of a picture
)

// begin writes a file's head: the root element, the accessible name and description, the style sheet, and the
// paper. The class selects the sheet's rules, so that a page can have several pictures. A fluid picture is as
// wide as its window, because scripts lay it out again. Without scripts it has its own size, or a smaller
// size in a narrower window.
func begin(out *bytes.Buffer, class string, fluid bool, width, height int, title, description, style string) {
	across := strconv.Itoa(width)
	if fluid {
		across = `100%" preserveAspectRatio="xMinYMin`
	}
	fmt.Fprintf(out, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" class="%[1]s" role="img" aria-labelledby="%[1]s-title %[1]s-desc" width="%[7]s" height="%[3]d" viewBox="0 0 %[2]d %[3]d">
<title id="%[1]s-title">%[4]s</title>
<desc id="%[1]s-desc">%[5]s</desc>
<style><![CDATA[
%[6]s]]></style>
<rect class="paper" width="100%%" height="100%%" fill="#fbfbfa"/>
`, class, width, height, escape(title), escape(description), style, across)
}

// escape makes text safe as XML, in elements and in attributes, after clean.
func escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(clean(text))) // a Builder takes every write
	return out.String()
}

// clean replaces bytes that are not UTF-8, control characters, and marks that reverse the writing direction
// with U+FFFD. XML forbids the first two, and the marks would let a name rearrange the text around it.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// thousands formats a number with commas between groups of three digits.
func thousands(n int) string { return profile.FormatValue(int64(n), "count") }

// plural formats a count with its noun: "1 row", "2 rows".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// hash folds FNV-1a to 32 bits, because its low bits alone are weak.
func hash(s string) uint32 {
	h := fnv.New64a()
	h.Write([]byte(s))
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum)
}
