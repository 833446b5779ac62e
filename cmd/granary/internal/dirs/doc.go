// Package dirs has the commands that keep the directories of a store: backup, verify, repair, dump. They know files and
// tables, and no profiles.
package dirs
