package change

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Difference is what a sentence is about. Values are those of the side before and of the side after, which can be compared.
type Difference struct {
	Subject string // such as "checkout"; "" stands for the whole selection
	Before  string // what the side before is of, such as "version 1"; "" if it is of the same at another time
	Type    string // sample type, such as cpu
	// Scaled is true if the sides were scaled to one total: then the sentence is about shares.
	Scaled bool
	// Profiles tells whether each side has profiles.
	Profiles [2]bool
	Total    [2]int64
	P        float64 // of the totals, NaN if it is not known
	// Functions are those whose values differ, and perhaps others.
	Functions []Changed

	level float64 // P of functions from which on they are within noise
}

// Changed is a function on both sides. Its P are NaN if they are not known.
type Changed struct {
	Name        string
	Flat, Cum   [2]int64
	FlatP, CumP float64
}

// IsNew reports whether only the side after has the function, and IsGone whether only the side before has it.
func (f *Changed) IsNew() bool { return f.Flat[0] == 0 && f.Cum[0] == 0 }

// IsGone is described with IsNew.
func (f *Changed) IsGone() bool { return f.Flat[1] == 0 && f.Cum[1] == 0 }

// isNoise reports whether the changes of a function are within noise, which begins at a level of P.
func (f *Changed) isNoise(level float64) bool {
	return (f.Flat[0] == f.Flat[1] || f.FlatP >= level) && (f.Cum[0] == f.Cum[1] || f.CumP >= level)
}

// mostFalse bounds the share of changes that a sentence tells of and that are noise. One of a hundred equal functions is below
// Noise: in a table of thousands this would be some dozen.
const mostFalse = 0.05

// findLevel finds the level of the functions by the procedure of Benjamini and Hochberg: of m changes, the k least P count, for
// the greatest k of which the last is at most mostFalse k / m. It is Noise at most.
func (d *Difference) findLevel() {
	var all []float64
	for i := range d.Functions {
		f := &d.Functions[i]
		for _, p := range []float64{f.FlatP, f.CumP} {
			if !math.IsNaN(p) {
				all = append(all, p)
			}
		}
	}
	slices.Sort(all)
	d.level = 0
	for k, p := range all {
		if p <= mostFalse*float64(k+1)/float64(len(all)) && p < Noise {
			d.level = math.Nextafter(p, 1)
		}
	}
}

// Sentence returns what changed, in one sentence for people.
func (d *Difference) Sentence() string {
	d.findLevel()
	subject := cmp.Or(d.Subject, "the selection")
	switch what := noun(d.Type); {
	case !d.Profiles[0] && !d.Profiles[1]:
		return "Neither side has profiles."
	case !d.Profiles[0]:
		return "The side before has no profiles: all is new, and nothing can be compared."
	case !d.Profiles[1]:
		return "The side after has no profiles: all is gone, and nothing can be compared."
	case d.Total[0] == 0 && d.Total[1] == 0 && len(d.Functions) == 0:
		return upper(subject) + " has no " + what + " on either side."
	case d.Total[0] == 0 && d.Before != "":
		return upper(d.Before) + " has no " + what + d.tail()
	case d.Total[0] == 0:
		return upper(subject) + " has no " + what + " before" + d.tail()
	case d.Total[1] == 0 && d.Before != "":
		return upper(subject) + " has no " + what + d.tail()
	case d.Total[1] == 0:
		return upper(subject) + " has no " + what + " any more" + d.tail()
	case d.Scaled:
		return "Scaled to the same total, " + d.main(0, "") + d.tail()
	default:
		return upper(subject) + " " + d.lead(verb(d.Type), what) + d.tail()
	}
}

// lead tells the change of the totals, and the functions that made most of it.
func (d *Difference) lead(verb, what string) string {
	by, before := change(d.Total[1]-d.Total[0], d.Total[0]), cmp.Or(d.Before, "before")
	than := ""
	if d.Before != "" {
		than = " than " + d.Before
	}
	switch percent := d.percent(d.Total[1] - d.Total[0]); {
	case d.Total[0] == d.Total[1]:
		return verb + " as much " + what + " as " + before + d.main(0, ", though ")
	case d.P >= Noise:
		return verb + " about as much " + what + " as " + before + " (" + by + ", within noise)" + d.main(0, ", though ")
	case d.Total[1] > d.Total[0]:
		return verb + " " + percent + " more " + what + than + d.main(1, ", mostly in ")
	default:
		return verb + " " + percent + " less " + what + than + d.main(-1, ", mostly in ")
	}
}

// limit is what no function changed beyond: doubt, if P of a single one is below Noise, which a page shows.
func (d *Difference) limit() string {
	if slices.ContainsFunc(d.Functions, func(f Changed) bool { return f.FlatP < Noise || f.CumP < Noise }) {
		return "doubt"
	}
	return "noise"
}

// mostNamed bounds the functions that a sentence names.
const mostNamed = 2

// main names the functions with the largest changes of their own values beyond noise. A direction of 1 or -1 takes those of
// this sign, which have to make half of the change to be called most of it; 0 takes any. If they do not, the function that made
// half with all that it calls tells more.
func (d *Difference) main(direction int, before string) string {
	var found []*Changed
	for i := range d.Functions {
		f := &d.Functions[i]
		by := f.Flat[1] - f.Flat[0]
		if by != 0 && !(f.FlatP >= d.level) && (direction == 0 || by > 0 == (direction > 0)) {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b *Changed) int {
		return cmp.Compare(math.Abs(float64(b.Flat[1]-b.Flat[0])), math.Abs(float64(a.Flat[1]-a.Flat[0])))
	})
	if f := d.below(direction); f != nil && !d.isHalf(ownOf(found[:min(mostNamed, len(found))])) {
		return fmt.Sprintf(", mostly below %s (%s of all)", shortened(f.Name), change(f.Cum[1]-f.Cum[0], d.Total[0]))
	}
	if len(found) == 0 {
		switch none := "no function changed beyond " + d.limit(); {
		case direction != 0:
			return ", spread over functions that each changed within noise"
		case before == "":
			return none
		case len(d.Functions) > 0 && !math.IsNaN(d.P):
			return ", and " + none
		}
		return ""
	}
	var names []string
	sum := int64(0)
	for _, f := range found[:min(mostNamed, len(found))] {
		names = append(names, fmt.Sprintf("%s (%s of all)", shortened(f.Name), change(f.Flat[1]-f.Flat[0], d.Total[0])))
		if sum += f.Flat[1] - f.Flat[0]; direction != 0 && d.isHalf(sum) {
			break
		}
	}
	if direction != 0 && !d.isHalf(sum) {
		before = ", most of all in "
	}
	text := before + strings.Join(names, " and ")
	if direction == 0 {
		if rest := len(found) - len(names); rest > 0 {
			text = before + strings.Join(names, ", ") + " and " + counted(rest, "other")
		}
		text += " changed"
	}
	return text
}

// isHalf reports whether a change is half of that of the totals at least.
func (d *Difference) isHalf(by int64) bool {
	return 2*math.Abs(float64(by)) >= math.Abs(float64(d.Total[1]-d.Total[0]))
}

// ownOf sums the changes of functions' own values.
func ownOf(all []*Changed) (sum int64) {
	for _, f := range all {
		sum += f.Flat[1] - f.Flat[0]
	}
	return sum
}

// Bounds on the function that a change is said to be below. One with more of the total tells nothing: main is above all. One whose change
// is nearly as large as the largest one may be deeper, and tells more.
const (
	mostOfTotal   = 0.75
	nearlyAsLarge = 0.9
)

// below returns the deepest function that made half of the change with all that it calls, nil if there is none beyond noise. It is for a
// change that spreads over what many functions call, such as the allocator.
func (d *Difference) below(direction int) (best *Changed) {
	if direction == 0 {
		return nil
	}
	larger, most := 0, 0.0
	if direction > 0 {
		larger = 1
	}
	var found []*Changed
	for i := range d.Functions {
		f := &d.Functions[i]
		by := float64(direction) * float64(f.Cum[1]-f.Cum[0])
		if by > 0 && d.isHalf(f.Cum[1]-f.Cum[0]) && !(f.CumP >= d.level) && float64(f.Cum[larger]) <= mostOfTotal*float64(d.Total[larger]) {
			found, most = append(found, f), max(most, by)
		}
	}
	for _, f := range found {
		if by := math.Abs(float64(f.Cum[1] - f.Cum[0])); by >= nearlyAsLarge*most && (best == nil || cmp.Or(cmp.Compare(f.Cum[larger], best.Cum[larger]), cmp.Compare(f.Flat[larger], best.Flat[larger]), cmp.Compare(f.Name, best.Name)) < 0) {
			best = f
		}
	}
	return best
}

// tail counts functions that are new, gone, or changed within noise.
func (d *Difference) tail() string {
	isNew, gone, noise, same, known := 0, 0, 0, 0, !math.IsNaN(d.P)
	for i := range d.Functions {
		switch f := &d.Functions[i]; {
		case f.Flat[0] == f.Flat[1] && f.Cum[0] == f.Cum[1]:
			same++
		case f.isNoise(Noise):
			noise++
		case f.isNoise(d.level): // among all functions it may be noise
		case f.IsNew():
			isNew++
		case f.IsGone():
			gone++
		}
	}
	var parts []string
	if isNew > 0 {
		parts = append(parts, counted(isNew, "function")+areIs(isNew)+"new")
	}
	if gone > 0 && isNew > 0 {
		parts = append(parts, strconv.Itoa(gone)+areIs(gone)+"gone")
	} else if gone > 0 {
		parts = append(parts, counted(gone, "function")+areIs(gone)+"gone")
	}
	text := ""
	if len(parts) > 0 {
		text = "; " + strings.Join(parts, ", ")
	}
	switch {
	case known && noise > 0 && noise+same < len(d.Functions): // otherwise main has said it
		return text + "; " + counted(noise, "function") + " changed within noise."
	case !known && len(d.Functions) > 0:
		return text + "; too few profiles tell what is noise."
	}
	return text + "."
}

// percent returns the size of a change as a share of the total before.
func (d *Difference) percent(by int64) string {
	return strings.TrimLeft(change(by, d.Total[0]), "+−")
}

// change returns a change with its sign, in percent of a total.
func change(by, total int64) string {
	sign, p := "+", 100*math.Abs(float64(by)/float64(total))
	if by < 0 {
		sign = "−"
	}
	digits := 1
	switch {
	case p >= 99.95:
		digits = 0
	case p < 1:
		digits = 2
	}
	if p < 0.005 {
		return sign + "0.01 % at most"
	}
	text := strconv.FormatFloat(p, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return sign + text + " %"
}

// nouns are what some sample types are called.
var nouns = map[string]string{
	"cpu": "CPU", "alloc_space": "memory allocated", "alloc_objects": "objects allocated", "inuse_space": "memory in use", "inuse_objects": "objects in use",
	"delay": "time blocked", "wall": "wall time",
}

// verb is what a program does with values of a type.
func verb(sampleType string) string {
	if sampleType == "cpu" {
		return "costs"
	}
	return "has"
}

func noun(sampleType string) string { return cmp.Or(nouns[sampleType], sampleType, "cost") }

// mostName bounds the characters of a name in a sentence: its end tells functions apart.
const mostName = 80

func shortened(name string) string {
	runes := []rune(name)
	if at := strings.LastIndexByte(strings.SplitN(name, "[", 2)[0], '/'); at >= 0 {
		runes = []rune(name[at+1:])
	}
	if len(runes) > mostName {
		return "…" + string(runes[len(runes)-mostName:])
	}
	return string(runes)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func areIs(n int) string {
	if n == 1 {
		return " is "
	}
	return " are "
}

func upper(text string) string {
	if rest, ok := strings.CutPrefix(text, "the "); ok {
		return "The " + rest
	}
	return text
}
