package annotation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The audiences of MCP.
const (
	user      mcp.Role = "user"
	assistant mcp.Role = "assistant"
)

const defaultPriority = 0.5

// leastPriority means a priority of 0, which the SDK leaves out.
const leastPriority = 1e-9

// Content is the annotation of a piece of content, a resource or a template. The zero value is for everybody.
type Content struct {
	// Audience is for whom it is; none means for everybody.
	Audience []mcp.Role
	// Priority is between 0 (may be left out) and 1 (needed); nil counts as 0.5.
	Priority *float64
	// LastModified is when it was changed last; zero means unknown.
	LastModified time.Time
}

// ContentOf reads MCP's form. The error names each field that is not valid; such a field counts as missing,
// except that an unknown audience stays, so that the content is only for those that it names. The SDK cannot
// tell a priority of 0 from a missing one, so both are missing.
func ContentOf(a *mcp.Annotations) (Content, error) {
	if a == nil {
		return Content{}, nil
	}
	c := Content{Audience: slices.Clone(a.Audience)}
	if a.Priority != 0 {
		c.Priority = new(a.Priority)
	}
	err := c.Validate()
	if !validPriority(c.Rank()) {
		c.Priority = nil
	}
	if a.LastModified != "" {
		at, bad := time.Parse(time.RFC3339, a.LastModified)
		if bad != nil {
			bad = fmt.Errorf("annotation: lastModified: want a time as in RFC 3339, such as 2025-01-12T15:00:58Z, got %.40q", a.LastModified)
			return c, errors.Join(err, bad)
		}
		c.LastModified = at
	}
	return c, err
}

// Validate reports every fault at once, each naming field and value.
func (c Content) Validate() error {
	var errs []error
	for _, role := range c.Audience {
		if role != user && role != assistant {
			errs = append(errs, fmt.Errorf("annotation: audience: %.40q is neither user nor assistant", role))
		}
	}
	if p := c.Rank(); !validPriority(p) {
		errs = append(errs, fmt.Errorf("annotation: priority: %v is not between 0 and 1", p))
	}
	return errors.Join(errs...)
}

func validPriority(p float64) bool { return p >= 0 && p <= 1 } // and no NaN

// For reports whether the content is for the role: no role is named, or this one is.
func (c Content) For(role mcp.Role) bool {
	return len(c.Audience) == 0 || slices.Contains(c.Audience, role)
}

// Rank returns the priority, 0.5 without one.
func (c Content) Rank() float64 {
	if c.Priority == nil {
		return defaultPriority
	}
	return *c.Priority
}

// MCP returns the SDK's form, nil if nothing is known. A priority of 0 is sent as a billionth, since the SDK
// omits a 0 and a reader would take it for 0.5.
func (c Content) MCP() *mcp.Annotations {
	if len(c.Audience) == 0 && c.Priority == nil && c.LastModified.IsZero() {
		return nil
	}
	a := &mcp.Annotations{Audience: slices.Clone(c.Audience)}
	if c.Priority != nil {
		a.Priority = max(*c.Priority, leastPriority)
	}
	if !c.LastModified.IsZero() {
		a.LastModified = c.LastModified.Format(time.RFC3339)
	}
	return a
}
