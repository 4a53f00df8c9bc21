package listing

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// take returns the definition of a tool that can be taken, of about size bytes, or why it cannot. The survey is that of
// its input schema.
func take(id string, def *mcp.Tool, size int, input schema.Survey) (*Definition, error) {
	if err := toolname.Check(def.Name); err != nil {
		return nil, err
	}
	if size > maxDefinition {
		return nil, fmt.Errorf("its definition has %d bytes, more than %d", size, maxDefinition)
	}
	tool, err := middleware.NewTool(id, def, annotation.Annotations{})
	if err != nil {
		return nil, fmt.Errorf("it cannot be written as JSON: %w", cmp.Or(errors.Unwrap(err), err)) // without the name of the tool
	}
	tool.Definition = shared(tool.Digest, tool.Definition)
	if err := schema.CheckInput(tool.Definition.InputSchema, input); err != nil {
		return nil, schemaError{fmt.Errorf("its input schema is not usable: %w", err)}
	}
	unchecked := ""
	if tool.Definition.OutputSchema != nil {
		_, err := schema.ReadContract(tool.Definition.OutputSchema)
		if _, harmless := errors.AsType[*schema.UncheckableError](err); harmless {
			unchecked = Line(err)
		} else if err != nil {
			return nil, schemaError{fmt.Errorf("its output schema is not usable: %w", err)}
		}
	}
	return &Definition{Tool: tool, Unchecked: unchecked}, nil
}

// A schemaError is about a schema, which has a kind of finding of its own.
type schemaError struct{ error }

func (e schemaError) Unwrap() error { return e.error }

// measure returns about how many bytes a definition has as JSON, without writing it, and a survey of its input schema.
func measure(def *mcp.Tool) (n int, input schema.Survey) {
	input = schema.Look(def.InputSchema)
	n = len(def.Name) + len(def.Title) + len(def.Description) + schema.Size(map[string]any(def.Meta)) +
		input.Size + schema.Size(def.OutputSchema) + len(`{"name":"","inputSchema":}`)
	if def.Annotations != nil {
		n += len(def.Annotations.Title)
	}
	for _, icon := range def.Icons {
		n += len(icon.Source) + len(icon.MIMEType) + len(icon.Theme)
		for _, size := range icon.Sizes {
			n += len(size) + len(`"",`)
		}
	}
	return n, input
}

// Check returns the faults in the host's own tools. In those of a server they are findings.
func Check(tools []*mcp.Tool) error {
	var errs []error
	seen := make(map[string]bool, len(tools))
	for i, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("number %d is nil", i))
			continue
		}
		if seen[t.Name] {
			errs = append(errs, fmt.Errorf("%q is there twice", t.Name))
		}
		seen[t.Name] = true
		who := Which(i, t.Name)
		if w := t.Annotations; w != nil && w.ReadOnlyHint && w.DestructiveHint != nil && *w.DestructiveHint {
			errs = append(errs, fmt.Errorf("%s: readOnlyHint and destructiveHint are both true: a tool that changes nothing cannot destroy", who))
		}
		if _, err := annotation.FromTool(t); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", who, err))
		}
		size, input := measure(t)
		if _, err := take("", t, size, input); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", who, err))
		}
	}
	return errors.Join(errs...)
}

// Which names a tool of the host's, which may have left the name out.
func Which(i int, name string) string {
	if name == "" {
		return named(i, name)
	}
	return name
}

// named names a tool whose name may be anything at all.
func named(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("tool number %d", i)
	}
	return strconv.QuoteToASCII(cut(name, 64))
}

// Line returns the text of an error on one line, safe to show.
func Line(err error) string {
	return safetext.Line(cut(strings.ReplaceAll(new(redact.Redactor).Text(err.Error()), "\n", "; "), 300))
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
