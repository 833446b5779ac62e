//go:build !unix

package listing

func mkfifo(string) error { return nil }
