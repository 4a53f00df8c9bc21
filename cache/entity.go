package cache

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

// An entity is the hash of what names one. Two that fall together are written to
// together, which costs a read and never an answer that is too old.
type entity uint64

// maxNames is how many entities one call may name before it counts as one that
// names none.
const maxNames = 256

// naming says in which arguments the calls of a tool, "server/tool", name
// entities.
type naming map[string][]string

func newNaming(given map[string][]string) naming {
	n := make(naming, len(given))
	for tool, members := range given {
		if !strings.Contains(tool, "/") {
			panic("cache: Options.Entities names " + strconv.Quote(tool) + ", which is not server/tool")
		}
		if len(members) == 0 {
			panic("cache: Options.Entities of " + tool + " names no argument; leave the tool out")
		}
		n[tool] = append([]string(nil), members...)
	}
	return n
}

// of returns the entities that the call names, none where it does not name them
// all without a doubt: arguments that a server could read in two ways name
// nothing.
func (n naming) of(seed maphash.Seed, call *middleware.Call) []entity {
	texts := n.texts(call)
	if len(texts) == 0 {
		return nil
	}
	names := make([]entity, len(texts))
	for i, text := range texts {
		names[i] = entity(maphash.String(seed, text))
	}
	return names
}

// shared returns the same for every process.
func (n naming) shared(call *middleware.Call) []Name {
	texts := n.texts(call)
	if len(texts) == 0 {
		return nil
	}
	names := make([]Name, len(texts))
	for i, text := range texts {
		sum := sha256.Sum256([]byte(text))
		names[i] = Name(sum[:len(Name{})])
	}
	return names
}

// texts returns what names them.
func (n naming) texts(call *middleware.Call) []string {
	if len(n) == 0 {
		return nil
	}
	members := n[call.Tool.String()]
	if len(members) == 0 {
		return nil
	}
	form, err := canonical.AppendObject(nil, call.Arguments)
	if err != nil {
		return nil
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(form, &given) != nil {
		return nil
	}
	var all []string
	for _, member := range members {
		for other := range given { // many a server does not mind the case
			if other != member && strings.EqualFold(other, member) {
				return nil
			}
		}
		texts := identities(given[member])
		if len(texts) == 0 || len(all)+len(texts) > maxNames {
			return nil
		}
		all = append(all, texts...)
	}
	return all
}

// identities returns the texts of a value that names one entity, or of a list of
// such values; none if it names none.
func identities(raw json.RawMessage) []string {
	var list []json.RawMessage
	if len(raw) > 0 && raw[0] == '[' {
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
	} else {
		list = []json.RawMessage{raw}
	}
	texts := make([]string, 0, len(list))
	for _, one := range list {
		text, ok := identity(one)
		if !ok {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// identity returns the text of one value. A number and its text are one, however
// they are written, and so are two texts that differ in case or in the space
// around them: a server may take them for the same thing.
func identity(raw json.RawMessage) (text string, ok bool) {
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] == '"':
		if json.Unmarshal(raw, &text) != nil {
			return "", false
		}
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		text = string(raw)
	default: // null, true, an object
		return "", false
	}
	text = strings.ToLower(strings.ToUpper(strings.TrimSpace(text))) // some letters have two small forms
	if number, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		text = strconv.FormatFloat(number, 'g', -1, 64)
	}
	return text, text != ""
}
