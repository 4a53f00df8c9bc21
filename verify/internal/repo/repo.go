// Package repo finds the repository that the commands and tests of this module work on.
//
// The go command takes the result of a test from its cache unless a file that the test opened has changed, and it looks
// only at files whose names begin with the folder of the test's module. Most of what is verified is outside of that
// folder. [Root] therefore goes through it: a test that opens files below Root runs again when they change. This holds
// for os.DirFS(root) and for names such as root+"/README.md", and not for what filepath.Join returns, which has lost
// the detour. A test that runs what it has built of other modules calls [DependsOnCode].
package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root returns the root of the repository that the working directory is in, as DIR/verify/..
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "verify", "go.mod")); err == nil {
			return dir + "/verify/..", nil
		}
	}
	return "", errors.New("run this in the repository: no folder above has verify/go.mod")
}

// DependsOnCode makes the result of a test depend on every file of the folders that are in the root of the repository,
// without verify itself, the documents and what is hidden.
func DependsOnCode() error {
	root, err := Root()
	if err != nil {
		return err
	}
	folders, err := os.ReadDir(filepath.Clean(root)) // which does not count: the time of .git changes too often
	if err != nil {
		return err
	}
	for _, folder := range folders {
		name := folder.Name()
		if !folder.IsDir() || strings.HasPrefix(name, ".") || slices.Contains([]string{"verify", "docs"}, name) {
			continue
		}
		// A folder that is listed counts with the names, sizes and times of its files.
		if err := fs.WalkDir(os.DirFS(root+"/"+name), ".", func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			return err
		}
	}
	return nil
}
