package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A secret of the arguments is hidden in an error as in the arguments: by name, by schema and by
// shape.
func TestSaidHidesTheSecretsOfTheArguments(t *testing.T) {
	t.Parallel()
	tool := &middleware.Tool{Definition: &mcp.Tool{InputSchema: json.RawMessage(`{"properties":{"note":{"writeOnly":true}}}`)}}
	for _, tt := range []struct{ arguments, said, want string }{
		{`{"password":"hunter22"}`, "no user hunter22", "no user [redacted]"},
		{`{"note":"hunter22"}`, "no user hunter22", "no user [redacted]"},
		{`{"user":"bob"}`, "no user bob", "no user bob"},
		{`{}`, "postgres://me:hunter22@db is away", "postgres://[redacted]db is away"},
		{``, "lost", "lost"},
	} {
		said := redact.Value{Call: middleware.Call{Tool: tool, Arguments: json.RawMessage(tt.arguments)}, Value: errors.New(tt.said)}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", slog.Any("err", said))
		if got := said.String(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.arguments, got, tt.want)
		}
		if strings.Contains(log.String(), "hunter22") || !strings.Contains(log.String(), `"err":"`) {
			t.Errorf("%s: the log is %s", tt.arguments, &log)
		}
	}
	if got := (redact.Value{}).String(); got != "<nil>" {
		t.Errorf("got %q", got)
	}
}
