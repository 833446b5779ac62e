package dict

import (
	"math"

	"github.com/granarydb/granary/internal/fields"
)

// AppendImageTo appends to dst the values with codes above since up to last, in the order of codes. It
// takes no lock, and costs about 10 ns a value and a copy of its bytes. docs/format/dictionary.md draws the
// bytes.
func (d *Values) AppendImageTo(dst []byte, since, last int) (image []byte) {
	w := fields.Writer{Data: dst}
	w.Uint(uint64(since))
	w.Uint(uint64(last - since))
	for i := since; i < last; i++ {
		w.Uint(uint64(d.entries.at(i).length))
	}
	for i := since; i < last; i++ {
		w.Raw(d.valueAt(d.entries.at(i)))
	}
	return w.Data
}

// Fit returns the first code at which the values above since take `bytes` bytes or more in an image, at
// most the code last, and the bytes that are left. It takes no lock, and costs 1 ns a value.
func (d *Values) Fit(since, last, bytes int) (to, left int) {
	const length = 2 // bytes of most lengths, or less
	for ; since < last && bytes > 0; since++ {
		bytes -= length + int(d.entries.at(since).length)
	}
	return since, bytes
}

// OpenImage checks an image of the values that follow the dictionary's, each with check unless check is
// nil. It returns a function that adds the values with their former codes, to be called once, and the bytes
// that follow the image. An error wraps ErrImage, and changes nothing.
//
// It does not check that values are distinct, among themselves or from the dictionary's values, because
// Find then returns any of the equal values.
//
// Nobody else may use the dictionary from this call until the values are added. Hashes and slots are not
// made until Find or Intern needs them, so that a dictionary is quickly there. It grows by 5 to 11 bytes a
// value later. Values are copied.
func (d *Values) OpenImage(image []byte, check func(value []byte) error) (add func(), rest []byte, err error) {
	r := fields.NewReader(image, ErrImage)
	r.In("values")
	lengths, data := d.readImage(&r, check)
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	return func() { d.addImage(lengths, data) }, r.Peek(), nil
}

// readImage reads the lengths and the bytes of an image's values.
func (d *Values) readImage(r *fields.Reader, check func(value []byte) error) (lengths []uint32, data []byte) {
	n := follows(r, "values", d.Len(), 1)
	lengths = make([]uint32, n)
	total := uint64(0)
	for i := range lengths {
		lengths[i] = uint32(r.Uint("length", math.MaxInt32))
		total += uint64(lengths[i])
	}
	if total > uint64(r.Left()) {
		r.Failf("%d values have %d bytes, and %d are left", n, total, r.Left())
		return nil, nil
	}
	data = r.Raw("bytes", int(total))
	if check == nil || r.Err() != nil {
		return lengths, data
	}
	left := data
	for i, length := range lengths {
		if err := check(left[:length:length]); err != nil {
			r.Failf("value %d: %v", d.Len()+i+1, err)
			return nil, nil
		}
		left = left[length:]
	}
	return lengths, data
}

// follows reads how many entries come before the image, which must be `have`, the number in the dictionary,
// and returns how many are in it. An entry takes at least `bytes` bytes.
func follows(r *fields.Reader, what string, have, bytes int) int {
	since := r.Uint("since", maxCodes)
	n := r.Count(what, bytes)
	if since != uint64(have) || since+uint64(n) > maxCodes {
		r.Failf("%d %s follow %d, and the dictionary has %d", n, what, since, have)
		return 0
	}
	return n
}

func (d *Values) addImage(lengths []uint32, data []byte) {
	if len(lengths) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.Len()
	for i, length := range lengths {
		d.entries.grow(n + i)
		*d.entries.at(n + i) = d.keep(0, data[:length])
		data = data[length:]
	}
	d.slots, d.bare = nil, true
	d.n.Store(uint32(n + len(lengths)))
}

// Prepare makes missing hashes and slots of values that came as images. Size does not grow without
// additions from then on. It costs about 30 ns a value.
func (d *Values) Prepare() {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.bare {
		d.hashAll()
	}
}

// hashAll makes the hashes and slots that addImage left out. The caller holds mu for reading;
// hashAll gives it back meanwhile.
func (d *Values) hashAll() {
	d.mu.RUnlock()
	defer d.mu.RLock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.bare {
		return
	}
	slots := firstSlots
	for 4*d.Len() > 3*slots {
		slots *= 2
	}
	d.slots = make([]uint32, slots)
	for i := range d.Len() {
		e := d.entries.at(i)
		value := d.valueAt(e)
		e.hash = d.hash(value)
		if code, slot := d.find(e.hash, value); code == 0 { // see idSet.fill
			d.slots[slot] = uint32(i + 1)
		}
	}
	d.bare = false
}
