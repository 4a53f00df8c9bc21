package hitl_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
)

// A screen is what a terminal shows.
type screen struct{ bytes.Buffer }

func asks(tb testing.TB, arguments string) hitl.Request {
	tb.Helper()
	return hitl.Request{
		Tool: tool(tb, "delete", annotation.Destructive()), Arguments: json.RawMessage(arguments), Deadline: time.Now().Add(30 * time.Second),
	}
}
