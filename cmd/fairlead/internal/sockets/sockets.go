// Package sockets names the folders of the sockets by which the processes of one user reach each other.
package sockets

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
)

// Folder returns the folder that has the sockets of this user's processes, and makes it. Only the user may enter it, so
// whoever connects is the user.
func Folder() (string, error) {
	all, err := Folders()
	if err != nil {
		return "", err
	}
	dir := all[0]
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o700) //nolint:gosec // a folder
}

// Folders returns the folders that may have the sockets of this user's processes, that of this process first. A
// client may start the proxy without most variables of the session that fairlead approve is run in, or with others, so
// that one of the two has XDG_RUNTIME_DIR and the other has not.
func Folders() (dirs []string, err error) {
	places := []string{os.Getenv("XDG_RUNTIME_DIR")}
	cache, err := os.UserCacheDir()
	if err == nil {
		places = append(places, cache)
	}
	if runtime.GOOS == "linux" { // the places that a session has by default
		if home, err := os.UserHomeDir(); err == nil {
			places = append(places, filepath.Join(home, ".cache"))
		}
		if u, err := user.Current(); err == nil {
			places = append(places, filepath.Join(u.HomeDir, ".cache"), filepath.Join("/run/user", u.Uid))
		}
	}
	for _, dir := range places {
		if dir = filepath.Join(dir, "fairlead"); filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("there is no folder of the user for sockets; set XDG_RUNTIME_DIR or HOME: %w", err)
	}
	return dirs, nil
}
