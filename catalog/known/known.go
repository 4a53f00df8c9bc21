// Package known holds the classes of the tools of public servers that many people install, given by a person who has
// read the definitions. The catalog uses them unless catalog.Options.NoKnown is set.
//
// A tool is known by the digest of its definition alone, since the host chooses the name of a server. A definition
// that differs in anything, as that of another version may, is not known, and inference decides. The digest is of what
// the MCP Go SDK reads of a definition, in one form: the order of members and of tools, the page of the list and the
// transport do not change it.
package known

import (
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/middleware"
)

//go:embed servers
var files embed.FS

// Of returns the annotations of a known tool, with [annotation.Reviewed] as the source and the reason as the evidence,
// and none for another tool. The caller must not change them.
func Of(tool *middleware.Tool) annotation.Annotations { return all()[tool.Digest] }

// all are the annotations of all files, read on first use.
var all = sync.OnceValue(func() map[middleware.Digest]annotation.Annotations {
	entries, err := read(files)
	if err != nil {
		panic(err) // the files are part of the program, and the tests read them
	}
	found := make(map[middleware.Digest]annotation.Annotations, len(entries))
	for _, e := range entries {
		found[e.digest] = e.annotations
	}
	return found
})

// An entry is one tool of a file.
type entry struct {
	name        string // "playwright/browser_tabs"
	digest      middleware.Digest
	annotations annotation.Annotations
}

// A file is a lock file of package pins without the definitions, which are other people's words. It has the tools of
// one server.
type file struct {
	Version int             `json:"version"` // 1, as that of a lock file
	From    string          `json:"from"`    // the package, and its version or the one that the server reports
	Tools   map[string]tool `json:"tools"`   // by "server/tool"; the server's name is that of the file
}

type tool struct {
	Class  annotation.Safety `json:"class"`
	Digest string            `json:"digest"`
	Review pins.Decision     `json:"review"`
}

// read returns the entries of all files. The tests check that they are right.
func read(from embed.FS) (entries []entry, err error) {
	const folder = "servers"
	list, err := from.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("known: %w", err)
	}
	for _, f := range list {
		text, err := from.ReadFile(path.Join(folder, f.Name()))
		if err == nil {
			entries, err = add(entries, text)
		}
		if err != nil {
			return nil, fmt.Errorf("known: %s: %w", f.Name(), err)
		}
	}
	return entries, nil
}

// add adds the entries of one file.
func add(to []entry, text []byte) ([]entry, error) {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	for name, tool := range f.Tools {
		e := entry{name: name}
		digest, err := hex.DecodeString(tool.Digest)
		if err != nil || len(digest) != len(e.digest) {
			return nil, fmt.Errorf("%s: want a digest, got %q", name, tool.Digest)
		}
		e.digest = middleware.Digest(digest)
		e.annotations = tool.Review.Annotations().Attribute(annotation.Reviewed, "")
		for i := range e.annotations.Evidence {
			e.annotations.Evidence[i].Place = tool.Review.Reason
		}
		to = append(to, e)
	}
	return to, nil
}
