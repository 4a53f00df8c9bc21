// Package inbox is the small messy folder that the example agent tidies.
package inbox

import (
	"embed"
	"io/fs"
)

//go:embed all:files
var files embed.FS

// FS returns the folder.
func FS() fs.FS {
	inbox, err := fs.Sub(files, "files")
	if err != nil {
		panic("inbox: " + err.Error()) // it is embedded
	}
	return inbox
}
