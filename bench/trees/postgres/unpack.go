package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Unpack fetches Debian's package, and those that it needs and that are not installed, into a
// new folder of dir, and unpacks them there. Nothing is installed. It returns the folder of the
// programs, and how to remove all of it. It wants apt-get and a Debian or one like it;
// ErrAbsent means that the package cannot be had.
func Unpack(dir string) (programs string, remove func() error, err error) {
	root, err := os.MkdirTemp(dir, "granary-postgres-package-")
	if err != nil {
		return "", nil, fmt.Errorf("postgres: %w", err)
	}
	remove = func() error { return os.RemoveAll(root) }
	if programs, err = unpack(root); err != nil {
		_ = remove() // the first error counts
		return "", nil, err
	}
	return programs, remove, nil
}

func unpack(root string) (string, error) {
	// The server's user reads the programs.
	if err := os.Chmod(root, 0o755); err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	if err := os.Mkdir(filepath.Join(root, "partial"), 0o755); err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	cmd := exec.Command("apt-get", "install", "--reinstall", "--download-only", "--yes", "-qq", "--no-install-recommends",
		"-o", "Dir::Cache::archives="+root, "-o", "Debug::NoLocking=true", "postgresql-15")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w, and its package cannot be had: %w\n%s", ErrAbsent, err, out)
	}
	packages, err := filepath.Glob(filepath.Join(root, "*.deb"))
	if err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	for _, name := range packages {
		if out, err := exec.Command("dpkg-deb", "--extract", name, root).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w, and its package cannot be unpacked: %w\n%s", ErrAbsent, err, out)
		}
	}
	return Find(filepath.Join(root, Installed))
}
