//go:build ignore

// Command archive packs files into an archive whose bytes depend on nothing but the files and a time, or prints the
// sums of files as sha256sum does. .ci/archives runs it, because a machine with Go need not have tar, zip and sha256sum.
//
//	go run archive.go -o NAME -os OS -commit SECONDS FILE...   the first file is the program; NAME.zip for windows, else NAME.tar.gz
//	go run archive.go -sums FILE...
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

func main() {
	out := flag.String("o", "", "name of the archive, without its ending")
	system := flag.String("os", "", "operating system of the program")
	seconds := flag.Int64("commit", 0, "Unix time of the files in the archive")
	sums := flag.Bool("sums", false, "print sums")
	flag.Parse()
	var err error
	switch {
	case *sums:
		err = printSums(flag.Args())
	case *system == "windows":
		err = write(*out+".zip", flag.Args(), time.Unix(*seconds, 0).UTC(), zipFiles)
	default:
		err = write(*out+".tar.gz", flag.Args(), time.Unix(*seconds, 0).UTC(), tarFiles)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

// file is a file of an archive. The first is the program, and executable.
type file struct {
	name string // in the archive
	data []byte
	mode os.FileMode
	at   time.Time
}

// write packs files below a folder that is named as the archive.
func write(name string, from []string, at time.Time, pack func(io.Writer, []file) error) error {
	folder := path.Base(filepath.ToSlash(name))
	folder = folder[:len(folder)-len(filepath.Ext(folder))]
	if filepath.Ext(folder) == ".tar" {
		folder = folder[:len(folder)-len(".tar")]
	}
	var files []file
	for i, f := range from {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if i == 0 {
			mode = 0o755
		}
		files = append(files, file{path.Join(folder, filepath.Base(f)), data, mode, at})
	}
	w, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(pack(w, files), w.Close())
}

func tarFiles(out io.Writer, files []file) error {
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: f.at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}

func zipFiles(out io.Writer, files []file) error {
	w := zip.NewWriter(out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: f.at}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := to.Write(f.data); err != nil {
			return err
		}
	}
	return w.Close()
}

func printSums(names []string) error {
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Printf("%x  %s\n", sha256.Sum256(data), name)
	}
	return nil
}
