package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Installed is where Debian's package has the programs.
const Installed = "/usr/lib/postgresql/15/bin"

// ErrAbsent means that there is no PostgreSQL 15 to run.
var ErrAbsent = errors.New("PostgreSQL 15 is absent")

// Find returns the folder of the programs, and ErrAbsent if one is not there. The empty name
// stands for Installed.
func Find(programs string) (string, error) {
	if programs == "" {
		programs = Installed
	}
	for _, name := range []string{"initdb", "postgres", "../../../../share/postgresql/15/extension/btree_gist.control"} {
		if _, err := os.Stat(filepath.Join(programs, name)); err != nil {
			return "", fmt.Errorf("%w: %w", ErrAbsent, err)
		}
	}
	return programs, nil
}

// fetch gets a package, and those that it needs and that are not installed, and unpacks them where it runs. The
// server's user reads the programs.
const fetch = `chmod 755 . && mkdir partial
apt-get install --reinstall --download-only --yes -qq --no-install-recommends \
	-o Dir::Cache::archives="$PWD" -o Debug::NoLocking=true postgresql-15
for package in *.deb; do dpkg-deb --extract "$package" .; done`

// Unpack fetches Debian's package into a new folder of dir, and unpacks it there. Nothing is installed. It
// returns the folder of the programs, and how to remove all of it. It wants apt-get and a Debian or one like it;
// ErrAbsent means that the package cannot be had.
func Unpack(dir string) (programs string, remove func() error, err error) {
	root, err := os.MkdirTemp(dir, "granary-postgres-package-")
	if err != nil {
		return "", nil, fmt.Errorf("postgres: %w", err)
	}
	remove = func() error { return os.RemoveAll(root) }
	cmd := exec.Command("sh", "-ec", fetch)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err == nil {
		programs, err = Find(filepath.Join(root, Installed))
	} else {
		err = fmt.Errorf("%w, and its package cannot be had: %w\n%s", ErrAbsent, err, out)
	}
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return programs, remove, nil
}
