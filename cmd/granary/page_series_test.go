package main

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/effort"
)

// TestPage_Series compares the lines that a page draws with those of granary series, for every type of
// real profiles: sums, and means of a step's profiles.
func TestPage_Series(t *testing.T) {
	folders := []string{"etcd", "staticcheck"}
	if effort.Full {
		folders = append(folders, "compile", "nats-server", "pebble")
	}
	compared, points := 0, 0
	for _, folder := range folders {
		s, types, _ := serverOf(t, folder)
		ask := func(path string, body map[string]any, into any) {
			t.Helper()
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/querier.v1.QuerierService/"+path, strings.NewReader(string(text)))
			r.Header.Set("Content-Type", "application/json")
			if s.ServeHTTP(w, r); w.Code != 200 {
				t.Fatalf("%s: status %d: %s", text, w.Code, w.Body)
			}
			if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
				t.Fatal(err)
			}
		}
		var known struct {
			ProfileTypes []struct{ ID, SampleType, PeriodType string }
		}
		ask("ProfileTypes", map[string]any{}, &known)
		for _, typ := range types {
			if typ.Sample == "contentions" || typ.Sample == "delay" { // of two kinds
				continue
			}
			id := ""
			for _, k := range known.ProfileTypes {
				if strings.HasSuffix(k.ID, typ.String()) {
					id = k.ID
				}
			}
			for flag, aggregation := range map[string]string{"--sum": "SUM", "--average": "AVERAGE"} {
				const step = 7 * time.Second
				args := []string{"series", "--json", "--step", step.String(), "--sample-index", typ.String(), "--cumulative", "sum", flag, filepath.Join("../../testdata/profiles", folder)}
				r := granary(t, args...)
				var want struct {
					Lines []struct {
						Points []struct {
							Time  time.Time
							Value int64
						}
					}
				}
				if err := json.Unmarshal([]byte(r.stdout), &want); r.code != 0 || err != nil {
					t.Fatalf("%q: %d, %v: %s", args, r.code, err, r.stderr)
				}
				var got struct {
					Series []struct {
						Points []struct {
							Timestamp int64 `json:",string"`
							Value     float64
						}
					}
				}
				ask("SelectSeries", map[string]any{
					"profileTypeID": id, "labelSelector": "{}", "start": "1", "end": "4102444800000", "step": step.Seconds(), "aggregation": "TIME_SERIES_AGGREGATION_TYPE_" + aggregation,
				}, &got)
				lines := func(n int) []map[int64]int64 { return make([]map[int64]int64, n) }
				a, b := lines(len(got.Series)), lines(len(want.Lines))
				for i, l := range got.Series {
					a[i] = map[int64]int64{}
					for _, p := range l.Points {
						a[i][p.Timestamp] = int64(math.Round(p.Value))
					}
				}
				for i, l := range want.Lines {
					b[i] = map[int64]int64{}
					for _, p := range l.Points {
						b[i][p.Time.UnixMilli()] = p.Value
						points++
					}
				}
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%s of %s, %s: %v, want %v", typ, folder, flag, a, b)
				}
				compared++
			}
		}
	}
	if compared < 20 || points < compared {
		t.Errorf("%d answers with %d points", compared, points)
	}
}
