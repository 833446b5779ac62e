// Command proof has a server of profiles below a path of its own mux: it pushes the profile that its argument
// names, and asks for it, and for the page.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(name string) error {
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	profiles, err := server.New(store, server.Options{})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/profiles/", http.StripPrefix("/profiles", profiles))
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	srv := httptest.NewServer(mux)
	defer srv.Close()

	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if _, err := ask(http.Post(srv.URL+"/profiles/pprof?job=api", "application/octet-stream", bytes.NewReader(data))); err != nil {
		return err
	}
	answer, err := ask(http.Get(srv.URL + "/profiles/pprof?type=cpu"))
	if err != nil {
		return err
	}
	p, err := profile.ParseData(answer)
	if err != nil {
		return err
	}
	page, err := ask(http.Get(srv.URL + "/profiles/"))
	if err != nil {
		return err
	}
	hello, err := ask(http.Get(srv.URL + "/hello"))
	fmt.Printf("%d samples, page %t, %s\n", min(len(p.Sample), 1), bytes.Contains(page, []byte("<script")), hello)
	return err
}

// ask returns the body of an answer whose status must be 200.
func ask(resp *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", resp.Request.URL.Path, resp.Status, body)
	}
	return body, err
}
