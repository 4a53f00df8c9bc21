package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A Lock is the definitions that were accepted. It never changes; the zero value
// accepts none. As text it is JSON, sorted, one block for each tool, so that what
// changes in it can be read in a review:
//
//	{
//	  "version": 1,
//	  "tools": {
//	    "crm/list_customers": {
//	      "class": "safe",
//	      "digest": "5b8a…",
//	      "definition": {
//	        "description": "Lists customers.",
//	        …
//
// The definition stands there so that a later one can be shown beside it; the
// digest is over its canonical form.
type Lock struct{ pins map[name]pin }

// A pin is one accepted definition.
type pin struct {
	class  annotation.Safety
	digest middleware.Digest
	form   []byte // the definition in its canonical form
}

const (
	lockVersion = 1
	maxLock     = 64 << 20 // bytes
)

// with returns a lock that differs in one tool; a pin without a form takes it out.
func (l *Lock) with(id name, p pin) *Lock {
	pins := make(map[name]pin)
	if l != nil {
		maps.Copy(pins, l.pins)
	}
	if p.form == nil {
		delete(pins, id)
	} else {
		pins[id] = p
	}
	return &Lock{pins: pins}
}

// MarshalText returns the text of a lock file. The same lock has the same text; a nil
// one, as [Catalog.Lock] returns without [Options.Lock], has none.
func (l *Lock) MarshalText() ([]byte, error) {
	if l == nil {
		return nil, errors.New("catalog: there is no lock to write; give the catalogue one as Options.Lock, an empty one to begin with")
	}
	type block struct {
		Class      string          `json:"class"`
		Digest     string          `json:"digest"`
		Definition json.RawMessage `json:"definition"`
	}
	tools := make(map[string]block, len(l.pins))
	for id, p := range l.pins {
		tools[id.server+"/"+id.tool] = block{p.class.String(), p.digest.String(), p.form}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(struct {
		Version int              `json:"version"`
		Tools   map[string]block `json:"tools"`
	}{lockVersion, tools}); err != nil {
		return nil, fmt.Errorf("catalog: the lock: %w", err)
	}
	text := []byte(safetext.JSON(shortEscapes.Replace(b.String()))) // with the ends of lines as a reader knows them
	if len(text) > maxLock {
		return nil, fmt.Errorf("catalog: the lock has %d bytes, more than the %d that can be read again", len(text), maxLock)
	}
	return text, nil
}

// shortEscapes has the backslash first, so that one that was escaped begins none.
var shortEscapes = strings.NewReplacer(`\\`, `\\`, `\u000a`, `\n`, `\u000d`, `\r`, `\u0009`, `\t`)
