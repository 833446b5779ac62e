package replay

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// Folder returns the folder of profiles with these labels, with a level NAME=VALUE for each label, in the
// layout of Hive partitions.
func Folder(dir string, labels map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		dir = filepath.Join(dir, name+"="+labels[name])
	}
	return dir
}

// Save writes an encoded profile to a gzipped file, and creates its folder. The errors come from the file
// system.
func Save(name string, data []byte) error {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(data); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o666)
}
