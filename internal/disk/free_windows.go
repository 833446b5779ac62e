package disk

import (
	"os"

	"golang.org/x/sys/windows"
)

func free(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, &os.PathError{Op: "free space", Path: dir, Err: err}
	}
	var bytes uint64
	if err := windows.GetDiskFreeSpaceEx(name, &bytes, nil, nil); err != nil {
		return 0, &os.PathError{Op: "free space", Path: dir, Err: err}
	}
	return int64(bytes), nil
}
