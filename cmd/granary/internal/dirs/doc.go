// Package dirs has the commands that maintain the directories of a store: backup, verify, repair, dump. They
// work on files and tables, not on profiles.
package dirs
