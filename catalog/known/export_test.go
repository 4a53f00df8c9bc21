package known

import (
	"embed"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A File is one of the files, for the tests.
type (
	File = file
	Tool = tool
)

// Files are the files.
func Files() embed.FS { return files }

// All are the annotations by digest.
func All() map[middleware.Digest]annotation.Annotations { return all() }
