package output

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/paging"
	"github.com/fairlead-go/fairlead/middleware"
)

// Paging says how a tool that lists something is asked for more. Places in the
// answer are JSON Pointers (RFC 6901): /meta/cursor.
type Paging struct {
	// Rows is where the list stands; "" means that the whole answer is the list.
	Rows string
	// Next is where the answer says how to go on: the cursor, or the offset of the next
	// row. It is rewritten when rows are cut. "" means nowhere; the model is told in
	// words all the same.
	Next string
	// More is where the answer says whether there are more rows, as true or false; ""
	// means nowhere.
	More string
	// Cursor is the argument that takes the cursor. The cursor of a cut page is made
	// here: when it comes back, the same page is asked for again and its first rows are
	// left out. So the tool must only read (one of another class gets no such cursor),
	// and the argument must take any text.
	Cursor string
	// Offset is the argument that says how many rows to leave out, in place of Cursor.
	Offset string
}

func newPaging(tool string, p Paging) *paging.Paging {
	field := fmt.Sprintf("output: Options.Paging[%q]", tool)
	if server, name, ok := strings.Cut(tool, "/"); !ok || server == "" || name == "" {
		panic(field + ": the key must be server/tool")
	}
	return paging.New(field, paging.Places(p))
}

// begin returns the call as its tool understands it, and the page that is asked for.
func (c *caller) begin(call middleware.Call) (middleware.Call, *paging.Page, error) {
	if len(c.pagings) == 0 {
		return call, nil, nil
	}
	p := c.pagings[call.Tool.String()]
	inner, page, err := p.Begin(call)
	if err != nil {
		return call, nil, &cursorError{tool: call.Tool, argument: p.Argument(), err: err}
	}
	return inner, page, nil
}

// A cursorError says that a cursor of ours has been changed.
type cursorError struct {
	fault.Unsent

	tool     *middleware.Tool
	argument string
	err      error
}

func (e *cursorError) Error() string {
	return fmt.Sprintf("output: the %s of a call of %s is not as it was given out: %v", e.argument, e.tool, e.err)
}

func (e *cursorError) ForModel() string {
	return fmt.Sprintf("%s was not called: give %q exactly as you got it, or leave it out to begin again.", e.tool.ModelName(), e.argument)
}

func (e *cursorError) Unwrap() error { return e.err }
