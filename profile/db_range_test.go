package profile

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
)

func TestRange(t *testing.T) {
	for _, bucket := range []time.Duration{0, time.Second, -1} {
		t.Run(fmt.Sprint("bucket ", bucket), func(t *testing.T) { testRange(t, testDB(t, Options{Bucket: bucket})) })
	}
}

func testRange(t *testing.T, db *DB) {
	at := func(ns int64, value int64, labels ...string) {
		insert(t, db, makeProfile(ns, "n:count", stack{frames: "f", values: []int64{value}}, stack{frames: "g f", values: []int64{100 * value}}), labels...)
	}
	at(-1, 1, "job", "b", "pod", "1")
	at(5, 2, "job", "b", "pod", "2")
	at(9, 3, "job", "a", "pod", "1")
	at(10, 4, "job", "a")
	at(25, 5, "pod", "1")
	at(26, -5, "pod", "1")
	for _, tc := range []struct {
		name     string
		selector string
		step     time.Duration
		by       []string
		top      int
		want     []Line
	}{
		{"one line", "", 10, nil, 0, []Line{{nil, []Point{{-10, 101}, {0, 505}, {10, 404}, {20, 0}}}}},
		{"one step", "", time.Hour, nil, 0, []Line{{nil, []Point{{-int64(time.Hour), 101}, {0, 909}}}}},
		{"nanoseconds", `{job="b"}`, 1, nil, 0, []Line{{nil, []Point{{-1, 101}, {5, 202}}}}},
		{"by one label", "", 10, []string{"job"}, 0, []Line{
			{nil, []Point{{20, 0}}},
			{[]Label{{"job", "a"}}, []Point{{0, 303}, {10, 404}}},
			{[]Label{{"job", "b"}}, []Point{{-10, 101}, {0, 202}}},
		}},
		{"by two labels, one of them twice", `{job!=""}`, 100, []string{"pod", "job", "pod"}, 0, []Line{
			{[]Label{{"job", "a"}}, []Point{{0, 404}}},
			{[]Label{{"job", "a"}, {"pod", "1"}}, []Point{{0, 303}}},
			{[]Label{{"job", "b"}, {"pod", "1"}}, []Point{{-100, 101}}},
			{[]Label{{"job", "b"}, {"pod", "2"}}, []Point{{0, 202}}},
		}},
		{"by a label that nothing has", "", 100, []string{"zone"}, 0, []Line{{nil, []Point{{-100, 101}, {0, 909}}}}},
		{"each time", `{job="a"}`, 0, nil, 0, []Line{{nil, []Point{{9, 303}, {10, 404}}}}},
		{"the greatest sum", "", 10, []string{"job"}, 1, []Line{{[]Label{{"job", "a"}}, []Point{{0, 303}, {10, 404}}}}},
		{"the greatest two, by label", "", 1000, []string{"pod"}, 2, []Line{
			{nil, []Point{{0, 404}}}, {[]Label{{"pod", "1"}}, []Point{{-1000, 101}, {0, 303}}},
		}},
		{"equal sums, by label", `{job="b", pod="1"}`, 10, []string{"zone", "pod"}, 5, []Line{{[]Label{{"pod", "1"}}, []Point{{-10, 101}}}}},
		{"nothing", `{job="c"}`, 10, nil, 0, nil},
	} {
		s, err := ParseSelector(tc.selector)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.Range(ctx, view(t, db), cpuCount, Query{Selector: s}, RangeOptions{Step: tc.step, By: tc.by, Top: tc.top})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tc.name, diff)
		}
	}
	for _, wrong := range []RangeOptions{{Step: -1}, {Top: -1}, {Step: 1, By: []string{""}}} {
		if _, err := db.Range(ctx, view(t, db), cpuCount, Query{}, wrong); !errors.Is(err, columnstore.ErrQuery) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// Each line's points are the sums of the inserted values by step, for any step, with and without buckets.
func TestRangeSumsToMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db := openDB(t, Options{Bucket: rapid.SampledFrom([]time.Duration{0, -1, time.Minute}).Draw(t, "bucket")})
		defer db.store.Close()
		n := rapid.IntRange(1, 8).Draw(t, "profiles")
		want := map[string]map[int64]int64{}
		step := rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "step")
		for range n {
			at := rapid.Int64Range(-int64(5*time.Hour), int64(5*time.Hour)).Draw(t, "time")
			if at == 0 {
				at = 1 // 0 means that the profile has no time
			}
			job := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "job")
			v := rapid.Int64Range(1, 9).Draw(t, "value")
			insert(t, db, makeProfile(at, "n:count", stack{frames: "f", values: []int64{v}}), "job", job)
			floor := at / step
			if at%step < 0 {
				floor--
			}
			if want[job] == nil {
				want[job] = map[int64]int64{}
			}
			want[job][floor*step] += v
		}
		err := db.store.View(ctx, func(snap *columnstore.Snapshot) error {
			lines, err := db.Range(ctx, snap, cpuCount, Query{}, RangeOptions{Step: time.Duration(step), By: []string{"job"}})
			got := map[string]map[int64]int64{}
			for _, line := range lines {
				job := ""
				if len(line.Labels) > 0 {
					job = line.Labels[0].Value
				}
				got[job] = map[int64]int64{}
				for i, p := range line.Points {
					got[job][p.Time] = p.Value
					if i > 0 && line.Points[i-1].Time >= p.Time {
						t.Fatalf("points are not in order: %v", line.Points)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
