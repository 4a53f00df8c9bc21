package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/escape"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits on one server's list.
const (
	maxPages      = 1000
	maxDefinition = 2 << 20 // bytes of one tool's definition as JSON
)

// list reads every page of a server's tools and sorts out what cannot be taken.
func (c *Catalog) list(ctx context.Context, id string, s Session) ([]definition, []Finding, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v", c.timeout))
	defer cancel()
	var all []*mcp.Tool
	seen := make(map[string]bool)
	for cursor := ""; ; {
		page, err := s.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, nil, fmt.Errorf("catalog: server %q could not list its tools: %w", id, err)
		}
		if page == nil {
			return nil, nil, fmt.Errorf("catalog: server %q answered its list of tools with nothing at all", id)
		}
		all = append(all, page.Tools...)
		cursor = page.NextCursor
		switch {
		case len(all) > c.maxTools:
			return nil, nil, fmt.Errorf("catalog: server %q lists more than %d tools; raise catalog.Options.MaxTools if that is right", id, c.maxTools)
		case cursor == "":
			accepted, refused := sift(id, all)
			return accepted, refused, nil
		case seen[cursor]:
			return nil, nil, fmt.Errorf("catalog: server %q lists without end: it gave the cursor %.40q twice", id, cursor)
		case len(seen) == maxPages:
			return nil, nil, fmt.Errorf("catalog: server %q lists more than %d pages of tools", id, maxPages)
		}
		seen[cursor] = true
	}
}

// A definition is one tool of a server's list as the catalogue took it: a copy,
// since the SDK hands out the list that it remembers to everyone who asks.
type definition struct {
	tool               *middleware.Tool // without annotations
	declared, inferred annotation.Annotations
	fault              string // of what it declares, "" for none
	form               []byte // its canonical form, which the digest is over
}

// sift returns the definitions that can be taken, and says of the others why not.
// Of two tools with one name neither is taken: nobody could say which is meant.
func sift(id string, all []*mcp.Tool) (accepted []definition, refused []Finding) {
	count := make(map[string]int)
	for _, def := range all {
		if def != nil {
			count[def.Name]++
		}
	}
	for i, def := range all {
		d, err := take(id, def)
		switch {
		case err != nil:
			refused = append(refused, Finding{Server: id, Text: fmt.Sprintf("%s was left out: %s", shown(i, def), line(err))})
		case count[def.Name] > 1:
			refused = append(refused, Finding{Server: id, Tool: def.Name, Text: fmt.Sprintf("left out: the server lists %d tools of this name", count[def.Name])})
			count[def.Name] = -1 // say it once
		case count[def.Name] == 1:
			accepted = append(accepted, d)
		}
	}
	classify(accepted)
	return accepted, refused
}

// shown names a tool whose name may be anything at all.
func shown(i int, def *mcp.Tool) string {
	if def == nil || def.Name == "" {
		return fmt.Sprintf("tool number %d", i)
	}
	return strconv.QuoteToASCII(cut(def.Name, 64))
}

// line returns the text of an error on one line, safe to show.
func line(err error) string {
	return escape.Line(cut(strings.ReplaceAll(err.Error(), "\n", "; "), 300))
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// take copies what can be taken, and says what keeps the rest from it.
func take(id string, def *mcp.Tool) (definition, error) {
	if err := check(def); err != nil {
		return definition{}, err
	}
	tool, err := middleware.NewTool(id, def, annotation.Annotations{})
	if err != nil {
		return definition{}, err
	}
	raw, err := json.Marshal(def)
	if err != nil {
		return definition{}, err
	}
	form, err := canonical.Append(nil, raw)
	if err != nil {
		return definition{}, err
	}
	declared, err := annotation.FromTool(tool.Definition)
	d := definition{tool: tool, declared: declared, form: form}
	if err != nil {
		d.fault = line(err)
	}
	return d, nil
}

// classify works out what the words of a server's tools give away, all together,
// since a prefix that they share says nothing.
func classify(accepted []definition) {
	words := make([]*mcp.Tool, len(accepted))
	for i, d := range accepted {
		words[i] = d.tool.Definition
	}
	for i, inferred := range infer.Tools(words) {
		accepted[i].inferred = inferred
	}
}

// check says what keeps a definition from being taken.
func check(def *mcp.Tool) error {
	if def == nil {
		return errors.New("it is null")
	}
	if err := toolname.Check(def.Name); err != nil {
		return err
	}
	raw, err := json.Marshal(def)
	if err != nil {
		return fmt.Errorf("it cannot be written as JSON: %w", err)
	}
	if len(raw) > maxDefinition {
		return fmt.Errorf("its definition has %d bytes, more than %d", len(raw), maxDefinition)
	}
	if err := checkSchema(def.InputSchema); err != nil {
		return fmt.Errorf("its input schema is not usable: %w", err)
	}
	if def.OutputSchema != nil {
		if err := checkReferences(def.OutputSchema); err != nil {
			return fmt.Errorf("its output schema is not usable: %w", err)
		}
	}
	return nil
}
