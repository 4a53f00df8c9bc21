// Package messy is the small messy folder that the example agent tidies, in the
// program itself, whichever main it has.
package messy

import (
	"embed"
	"io/fs"
)

//go:embed all:inbox
var files embed.FS

// Folder returns the folder.
func Folder() fs.FS {
	folder, err := fs.Sub(files, "inbox")
	if err != nil {
		panic(err) // it is in the binary
	}
	return folder
}
