//go:build !unix

package logfile

import "os"

// lock takes the file for this process by making another beside it. After a crash
// somebody has to remove it.
func lock(f *os.File) (unlock func(), err error) {
	name := f.Name() + ".lock"
	held, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = held.Close()
		_ = os.Remove(name)
	}, nil
}
