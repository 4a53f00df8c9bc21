//go:build !unix

package policy

import "os"

// owned takes every file: its mode does not give the users who may write to it here.
func owned(string, os.FileInfo) error { return nil }
