// Package owned refuses files that another user could have written, where what they hold can approve a call: the
// policy, the settings of access, the lock and the folder with approvals; and files with secrets that another user could
// read.
package owned

import (
	"fmt"
	"os"
)

// File reports why a file or folder cannot be relied on: every user may write to it, or it belongs to a user that is
// neither this one nor root. One that is not there is no fault.
func File(name string) error {
	info, err := os.Stat(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be checked: %w", name, err)
	}
	return Info(name, info)
}

// Private reports why a file or folder with secrets cannot be relied on: another user may read or write it, or it
// belongs to one.
func Private(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("%s cannot be checked: %w", name, err)
	}
	return PrivateInfo(name, info)
}
