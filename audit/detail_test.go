package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var key = []byte("0123456789abcdef0123456789abcdef")

// written is what the trail writes of one call.
func written(t *testing.T, o audit.Options, call middleware.Call, res *mcp.CallToolResult, err error) (string, []audit.Record) {
	t.Helper()
	s := new(sink)
	trail := audit.New(s, o)
	caller := chain.Standard{Audit: trail}.Then(guarded(testtool.Answering(res, err)))
	_, _ = caller.CallTool(t.Context(), call)
	b, jsonErr := json.Marshal(s.all())
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	return string(b), s.all()
}

func TestB265KeysThatNameSecretsKeepTheirNamesAndNoValues(t *testing.T) {
	t.Parallel()
	restricted := testtool.New("files", "login", with(annotation.ReadOnly(), annotation.Restricted, annotation.Unset))
	call := middleware.Call{Tool: restricted, Arguments: json.RawMessage(`{"apiKey":"sk-live-123","Authorization":"Bearer abc","note":"x"}`)}
	text, records := written(t, audit.Options{Key: key}, call, textResult("x"), nil)
	if strings.Contains(text, "sk-live") || strings.Contains(text, "abc\"") {
		t.Errorf("a secret was written: %s", text)
	}
	for _, kept := range []string{`"apiKey":`, `"Authorization":`, `"note":"x"`} {
		if !strings.Contains(string(records[0].Arguments), kept) {
			t.Errorf("%s is gone: %s", kept, records[0].Arguments)
		}
	}
	if got := records[0].ArgumentsDigest; got != audit.Digest(key, call.Arguments) || got == audit.Digest(append([]byte("x"), key...), call.Arguments) {
		t.Errorf("the digest cannot be checked: %q", got)
	}
	if records[1].ResultDigest == "" {
		t.Error("the result has no digest")
	}
}

func TestB267FreeTextIsNotWrittenUnlessInFull(t *testing.T) {
	t.Parallel()
	call := middleware.Call{Arguments: json.RawMessage(`{"text":"my password is hunter2, and the launch is at dawn"}`)}
	for _, level := range []annotation.SecurityLevel{"", annotation.Public, annotation.Internal} {
		call.Tool = testtool.New("files", "say", with(annotation.Write(), level, annotation.Unset))
		if text, _ := written(t, audit.Options{Key: key}, call, nil, errors.New("dawn is too early for hunter2")); strings.Contains(text, "hunter2") || strings.Contains(text, "dawn") {
			t.Errorf("%q: values were written: %s", level, text)
		}
	}
	call.Tool = testtool.New("files", "say", with(annotation.Write(), annotation.Restricted, annotation.Unset))
	if text, _ := written(t, audit.Options{}, call, nil, errors.New("dawn is too early")); strings.Contains(text, "hunter2") || !strings.Contains(text, "dawn") {
		t.Errorf("in full: %s", text)
	}
}

func TestB269DigestCannotBeGuessedBack(t *testing.T) {
	t.Parallel()
	restricted := testtool.New("files", "unlock", with(annotation.ReadOnly(), annotation.Restricted, annotation.Unset))
	call := middleware.Call{Tool: restricted, Arguments: json.RawMessage(`{"pin":"1234"}`)}
	text, records := written(t, audit.Options{}, call, textResult("x"), nil)
	if records[0].ArgumentsDigest != "" || records[1].ResultDigest != "" || strings.Contains(text, "1234") {
		t.Errorf("without a key there is a digest: %s", text)
	}
	_, a := written(t, audit.Options{Key: key}, call, textResult("x"), nil)
	_, b := written(t, audit.Options{Key: bytes.Repeat([]byte("k"), 32)}, call, textResult("x"), nil)
	if a[0].ArgumentsDigest == "" || a[0].ArgumentsDigest == b[0].ArgumentsDigest {
		t.Errorf("the digest does not depend on the key: %q", a[0].ArgumentsDigest)
	}
}

func TestLongTextsAreReplacedByTheirSize(t *testing.T) {
	t.Parallel()
	restricted := testtool.New("files", "read", with(annotation.ReadOnly(), annotation.Restricted, annotation.Unset))
	long := strings.Repeat("lorem ", 50_000)
	text, records := written(t, audit.Options{Key: key}, middleware.Call{Tool: restricted, Arguments: json.RawMessage(`{"a":"` + long + `"}`)}, textResult(long), nil)
	if len(text) > 4000 || !strings.Contains(string(records[0].Arguments), "300008 bytes") || records[0].ArgumentsDigest == "" {
		t.Errorf("got %d bytes: %.300s", len(text), text)
	}
}

// A call that must be recorded is refused with unreadable arguments, too.
func TestArgumentsThatAreNotJSONAreNotWritten(t *testing.T) {
	t.Parallel()
	restricted := testtool.New("files", "read", with(annotation.ReadOnly(), annotation.Restricted, annotation.Unset))
	text, _ := written(t, audit.Options{}, middleware.Call{Tool: restricted, Arguments: json.RawMessage(`{"password":"hunter2`)}, nil, errors.New("no JSON: hunter2"))
	if strings.Contains(text, "hunter2") {
		t.Errorf("%s", text)
	}
}

// A thousand calls hide a secret of their own wherever one can be hidden, in arguments, results
// and errors; no sink, log or error text of these packages has it.
func TestNoSentinelIsEverWritten(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	file, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	trail := audit.New(file, audit.Options{Key: key, Logger: logger})
	broken := audit.New(&sink{err: errors.New("the disk is full")}, audit.Options{Logger: logger})
	schema := map[string]any{"type": "object", "properties": map[string]any{
		"note": map[string]any{"type": "string", "writeOnly": true}, "word": map[string]any{"type": "string", "format": "password"},
	}}
	definition := &mcp.Tool{Name: "touch", InputSchema: schema, OutputSchema: schema}
	classes := []annotation.Annotations{annotation.ReadOnly(), annotation.Write(), annotation.Destructive(), {}}
	levels := []annotation.SecurityLevel{annotation.Restricted, annotation.Internal, annotation.Public, ""}
	random := rand.New(rand.NewPCG(1, 2))
	var errs strings.Builder
	calls := 1000 / longtest.Every(t, 5)
	for i := range calls {
		sentinel := fmt.Sprintf("sentinel-%d-%x", i, random.Uint64())
		made, err := middleware.NewTool("files", definition, with(classes[random.IntN(4)], levels[random.IntN(4)], annotation.HintOf(random.IntN(3) == 0)))
		if err != nil {
			t.Fatal(err)
		}
		end := testtool.Answering(hiding(random, sentinel), nil)
		if random.IntN(3) == 0 {
			end = testtool.Answering(nil, fmt.Errorf("the server says: bad password %q in %s", sentinel, hidden(random, sentinel)))
		}
		of := trail
		if random.IntN(4) == 0 {
			of = broken
		}
		caller := chain.Standard{
			Audit: of, Confirm: hitl.New(yes, hitl.Options{Logger: logger}),
			Budget: budget.New(budget.Options{Logger: logger, Session: budget.Limit{Calls: random.IntN(3)}}),
		}.Then(guarded(end))
		for range 1 + random.IntN(2) {
			_, err := caller.CallTool(t.Context(), middleware.Call{ID: fmt.Sprint(i), Tool: made, Arguments: json.RawMessage(hidden(random, sentinel))})
			if errors.Is(err, audit.ErrRefused) || errors.Is(err, budget.ErrStopped) {
				errs.WriteString(err.Error())
			}
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the file": string(raw), "the log": log.String(), "the errors": errs.String()} {
		if len(text) < 1000 {
			t.Errorf("%s hold next to nothing: %s", where, text)
		}
		if at := strings.Index(text, "sentinel"); at >= 0 {
			t.Errorf("%s: %s", where, text[max(0, at-300):min(len(text), at+100)])
		}
	}
	if report, err := audit.Verify(name); err != nil || report.State != audit.Whole || len(report.Open) != 0 {
		t.Errorf("got %+v, %v", report, err)
	}
}

// hidden is arguments with a secret in one of the places where it must be found.
func hidden(random *rand.Rand, secret string) string {
	q := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	places := []string{
		`{"password":` + q(secret) + `}`,
		`{"note":` + q(secret) + `}`,
		`{"word":` + q(secret) + `,"x":1}`,
		`{"a":{"b":[{"apiKey":` + q(secret) + `}]}}`,
		`{"env":[{"name":"DB_PASSWORD","value":` + q(secret) + `}]}`,
		`{"text":` + q("password="+secret) + `}`,
		`{"text":` + q(`{"token":"`+secret+`"}`) + `}`,
		`{"url":` + q("https://ann:"+secret+"@example.com/") + `}`,
		`{"header":` + q("Authorization: Bearer "+secret) + `}`,
		`{"first":` + q("it is "+secret) + `,"secret":` + q(secret) + `}`,
		`{"args":["--token",` + q(secret) + `]}`,
		`{"pem":` + q("-----BEGIN PRIVATE KEY-----\n"+secret+"\n-----END PRIVATE KEY-----") + `}`,
	}
	return places[random.IntN(len(places))]
}

// hiding is a result with a secret in one of the same places, as text, as JSON in
// text, or as structure.
func hiding(random *rand.Rand, secret string) *mcp.CallToolResult {
	text := hidden(random, secret)
	var v any
	_ = json.Unmarshal([]byte(text), &v)
	res := textResult(text)
	if random.IntN(2) == 0 {
		res.StructuredContent = v
	}
	res.IsError = random.IntN(3) == 0
	return res
}

func TestTimeOfARecordIsItsCalls(t *testing.T) {
	t.Parallel()
	before := time.Now()
	_, records := written(t, audit.Options{}, middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())}, textResult("x"), nil)
	if r := records[0]; r.Time.Before(before) || r.Took < 0 || r.Took > time.Since(before) {
		t.Errorf("got %+v", r)
	}
}

var _ audit.Sink = audit.SinkFunc(func(context.Context, audit.Record) error { return nil })
