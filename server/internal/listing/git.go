package listing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// checkTime bounds the time of git at the start.
const checkTime = 30 * time.Second

// git runs a command of git in the repository, and returns at most `most` bytes of its output. The configuration of the system and of
// the user is not read, no other server is asked for missing objects, and names of files are no patterns.
func (m *Dir) git(ctx context.Context, most int, args ...string) ([]byte, error) {
	dir := filepath.Join(m.Dir, ".git") // with a working tree; it is named because a search for it could find another's
	if _, err := os.Stat(dir); err != nil {
		dir = m.Dir
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir=" + dir, "--no-replace-objects", "-c", "protocol.allow=never", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Env = []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_LITERAL_PATHSPECS=1", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C",
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
	}
	cmd.WaitDelay = time.Second
	out, told := cappedBuffer{most: most, full: cancel}, cappedBuffer{most: maxName, full: func() {}}
	cmd.Stdout, cmd.Stderr = &out, &told
	err := cmd.Run()
	switch {
	case out.isFull:
		return nil, ErrLarge
	case err != nil && len(told.data) > 0:
		err = fmt.Errorf("git: %s", bytes.TrimSpace(told.data))
	}
	return out.data, err
}

// cappedBuffer keeps the first bytes, and calls full at the first one that is too many.
type cappedBuffer struct {
	data   []byte
	most   int
	full   func()
	isFull bool
}

// Write implements io.Writer.
func (b *cappedBuffer) Write(p []byte) (int, error) {
	room := b.most - len(b.data)
	if len(p) > room && !b.isFull {
		b.isFull = true
		b.full()
	}
	b.data = append(b.data, p[:min(len(p), room)]...)
	return len(p), nil
}

// checkGit returns an error if git finds no repository, or not the revision.
func (m *Dir) checkGit() error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("a revision needs the command git: %w", err)
	}
	if _, err := m.git(ctx, maxName, "rev-parse", "--git-dir"); err != nil {
		return fmt.Errorf("%s is no repository: %w", m.Dir, err)
	}
	if strings.HasPrefix(m.Revision, "-") {
		return fmt.Errorf("%s is no revision", m.Revision)
	}
	if strings.Contains(m.Revision, versionPart) {
		return nil
	}
	if _, err := m.git(ctx, maxName, "rev-parse", "--verify", "--quiet", "--end-of-options", m.Revision); err != nil {
		return fmt.Errorf("%s has no revision %s", m.Dir, m.Revision)
	}
	return nil
}

// isRevision reports whether a version can be a part of a revision: of the name of a commit, a tag or a branch. What has a meaning
// of its own for git, such as a search of messages, is none.
func isRevision(version string) bool {
	const most = 200
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/"
	return version != "" && len(version) <= most && strings.Trim(version, plain) == "" && !strings.Contains(version, "..") && !strings.ContainsRune("-./+", rune(version[0]))
}

// readGit returns the bytes of a file of the revision.
func (m *Dir) readGit(ctx context.Context, name, version string) ([]byte, error) {
	revision := m.Revision
	if strings.Contains(revision, versionPart) {
		if !isRevision(version) {
			return nil, ErrVersion
		}
		revision = strings.ReplaceAll(revision, versionPart, version)
	}
	const line = 4 * maxName
	listed, err := m.git(ctx, line, "ls-tree", "-z", "-l", "--full-tree", revision, "--", name)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), ErrNoFile)
	}
	object, err := objectOf(string(listed), name)
	if err != nil {
		return nil, err
	}
	data, err := m.git(ctx, MaxBytes, "cat-file", "blob", object)
	switch {
	case errors.Is(err, ErrLarge):
		return nil, err
	case err != nil:
		return nil, cmp.Or(ctx.Err(), ErrNoFile)
	}
	return data, nil
}

// objectOf returns the object of a regular file in git's list of it: "100644 blob OBJECT SIZE<tab>NAME<nul>".
func objectOf(listed, name string) (string, error) {
	entry, ok := strings.CutSuffix(listed, "\t"+name+"\x00")
	fields := strings.Fields(entry)
	if !ok || len(fields) != 4 || fields[0] != "100644" && fields[0] != "100755" || fields[1] != "blob" { // a link, a folder, or another repository
		return "", ErrNoFile
	}
	if size, err := strconv.ParseInt(fields[3], 10, 64); err != nil || size > MaxBytes {
		return "", ErrLarge
	}
	return fields[2], nil
}
