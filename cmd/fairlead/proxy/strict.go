package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Servers read JSON in different ways: some take the first of two members of one name,
// some the last, and some ignore the case. What is forwarded must read the same for all.

// known are the members of the params of tools/call that the chain knows.
var known = []string{"name", "arguments", "_meta", "inputResponses", "requestState"}

// readCall reads the params of tools/call. It refuses params that two readers could take
// for different calls.
func readCall(raw json.RawMessage) (*mcp.CallToolParamsRaw, error) {
	if err := unambiguous(raw); err != nil {
		return nil, err
	}
	for name := range members(raw) {
		for _, exact := range known {
			if name != exact && strings.EqualFold(name, exact) {
				return nil, fmt.Errorf("the member %q can be taken for %q; write it so", name, exact)
			}
		}
	}
	p := new(mcp.CallToolParamsRaw)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, err
	}
	if p.Name == "" {
		return nil, errors.New("they need a name")
	}
	return p, nil
}

// unambiguous refuses a text in which one object, at any depth, has two members whose
// names are the same, or differ only in case.
func unambiguous(raw json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var open []map[string]bool // the names of each object that is open, nil for a list
	isName := false
	for {
		token, err := d.Token()
		if err != nil {
			if len(open) == 0 && d.InputOffset() == int64(len(bytes.TrimRight(raw, " \t\r\n"))) {
				return nil
			}
			return errors.New("they are not one JSON object")
		}
		text, isText := token.(string)
		switch {
		case isText && isName:
			name := fold(text)
			names := open[len(open)-1]
			if names[name] {
				return fmt.Errorf("the member %q is there twice, or once more in another case", text)
			}
			names[name], isName = true, false
			continue
		case token == json.Delim('{'):
			open = append(open, make(map[string]bool))
		case token == json.Delim('['):
			open = append(open, nil)
		case token == json.Delim('}'), token == json.Delim(']'):
			open = open[:len(open)-1]
		}
		isName = len(open) > 0 && open[len(open)-1] != nil
	}
}

// fold returns the same for all names that [strings.EqualFold] holds for equal.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}
