// Command strip writes the file of package known for a server: the reviewed tools of a lock file, without their
// definitions.
//
//	go run ./catalog/known/strip -from "npm @scope/name 1.2.3" new.lock > catalog/known/servers/name.json
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/fairlead-go/fairlead/catalog/pins"
)

func main() {
	from := flag.String("from", "", "the package and the version whose definitions were reviewed")
	flag.Parse()
	if err := run(os.Stdout, *from, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "strip:", err)
		os.Exit(1)
	}
}

// An entry is a tool of a lock file, without its definition.
type entry struct {
	Class  string         `json:"class"`
	Digest string         `json:"digest"`
	Review *pins.Decision `json:"review"`
}

func run(out io.Writer, from, path string) error {
	if from == "" || path == "" {
		return errors.New(`name the package and the lock file: -from "npm @scope/name 1.2.3" new.lock`)
	}
	lock, err := pins.Load(path) // which checks the digests
	if err != nil {
		return err
	}
	text, err := lock.MarshalText()
	if err != nil {
		return err
	}
	var file struct {
		Version int              `json:"version"`
		From    string           `json:"from"`
		Tools   map[string]entry `json:"tools"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file.From = from
	for name, tool := range file.Tools {
		if tool.Review == nil || tool.Review.Reviewer == "" { // no person gave it a class
			delete(file.Tools, name)
			continue
		}
		tool.Review.Model, tool.Review.Prompt, tool.Review.Answer = "", "", "" // the prompt has the definition
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(file)
}
