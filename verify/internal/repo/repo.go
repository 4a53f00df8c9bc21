// Package repo finds the repository that the commands of this module work on.
package repo

import (
	"errors"
	"os"
	"path/filepath"
)

// Root returns the root of the repository that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "verify", "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("run this in the repository: no folder above has verify/go.mod")
}
