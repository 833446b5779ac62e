package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/server/internal/page"
)

// TestPage_ProfilesInHalves asks for the newest profiles with ever less memory: the answer is the same, or there is none. With
// some it is made of halves of the time.
func TestPage_ProfilesInHalves(t *testing.T) {
	effort.Alone(t)
	var files [][]byte
	for i := range int64(12) {
		files = append(files, small(t, i+1))
	}
	ask := func(bytes int64, path string) (status int, answer page.ProfilesAnswer) {
		r := newReceiver(t, Options{Limits: Limits{QueryBytes: bytes}}, columnstore.Options{FutureLimit: -1})
		for i, data := range files {
			for pod := range 2 { // at one time
				r.want(http.StatusOK, "rows", r.request(http.MethodPost, fmt.Sprintf("/pprof?job=a&pod=%d", (i+pod)%5), data))
			}
		}
		status, text := r.send(r.request(http.MethodGet, path, nil))
		if status == http.StatusOK {
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err)
			}
		}
		return status, answer
	}
	for _, path := range []string{"/api/v1/profiles", "/api/v1/profiles?rows=7&pixels=10", "/api/v1/profiles?rows=1&pixels=3"} {
		_, want := ask(0, path)
		if want.All != 24 {
			t.Fatalf("%s: %d profiles", path, want.All)
		}
		halved, refused := 0, 0
		for bytes := int64(1 << 10); bytes < 1<<20; bytes += bytes / 4 {
			status, got := ask(bytes, path)
			if status != http.StatusOK {
				refused++
				continue
			}
			if got.Touched.Rows > want.Touched.Rows {
				halved++
			}
			got.Head = want.Head
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s in %d bytes: %+v, want %+v", path, bytes, got, want)
			}
		}
		if halved == 0 || refused == 0 {
			t.Errorf("%s: %d answers of halves, %d refused", path, halved, refused)
		}
	}
}
