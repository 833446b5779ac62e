// Command example profiles itself: go tool pprof 'http://localhost:4041/pprof?type=cpu'
package main

import (
	"context"
	"log"
	"net"
	"net/http"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server"
	"github.com/granarydb/granary/server/self"
)

func main() {
	l, err := net.Listen("tcp", "localhost:4041")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(run(context.Background(), l))
}

func run(ctx context.Context, l net.Listener) error {
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 32 << 20})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	handler, err := server.New(store, server.Options{})
	if err != nil {
		return err
	}
	srv, ended := http.Server{Handler: handler}, make(chan struct{})
	go func() { _ = srv.Serve(l); close(ended) }()
	err = self.Profile(ctx, store, self.Options{})
	_ = srv.Close()
	<-ended
	return err
}
