package query

import "testing"

// What is remembered of subjects is right, the latest is remembered, and there is no more of
// it than there may be.
func TestSubjectMemo(t *testing.T) {
	var m subjectMemo
	became := func(i uint64) (from uint32, word uint64, to uint32) {
		return subjectKey(uint32(i%50), i%3 == 0), i / 50 * 10_000_000, uint32(i)
	}
	for i := range uint64(100_000) {
		from, word, to := became(i)
		if got, known := m.find(from, word); known {
			t.Fatalf("what was never there is known: %d became %d", i, got)
		}
		m.add(from, word, to)
		for _, back := range []uint64{0, 1, 60, mostSubjects / 2} {
			if back > i {
				continue
			}
			from, word, to := became(i - back)
			if got, known := m.find(from, word); known && got != to || !known && (back == 0 || i < mostSubjects/2) {
				t.Fatalf("%d became %d, %v after %d more", i-back, got, known, back)
			}
		}
	}
	if len(m.slots) != mostSubjects || 2*m.used > mostSubjects {
		t.Errorf("%d of %d slots are used, at most %d", m.used, len(m.slots), mostSubjects)
	}
}
