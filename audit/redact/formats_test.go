package redact_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit/redact"
)

// A format is an example of a public format of secrets; testdata/README.md has their sources.
type format struct{ ID, Text, Secret string }

func publicFormats(t *testing.T) (all []format) {
	t.Helper()
	in, err := os.Open("testdata/formats.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var f format
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// readable are the formats that stay; testdata/README.md has the reasons.
var readable = []string{"asana-client-id", "discord-client-id"}

func TestPublicFormats(t *testing.T) {
	t.Parallel()
	all := publicFormats(t)
	if len(all) < 219 {
		t.Fatalf("there are %d formats", len(all))
	}
	for _, f := range all {
		for name, got := range map[string]string{
			"text":   new(redact.Redactor).Text(f.Text),
			"result": string(new(redact.Redactor).JSON(mustJSON(t, map[string]any{"content": []any{map[string]any{"type": "text", "text": f.Text}}}), nil)),
		} {
			inJSON := string(mustJSON(t, f.Secret))
			stays := strings.Contains(got, f.Secret) || strings.Contains(got, inJSON[1:len(inJSON)-1])
			if stays != slices.Contains(readable, f.ID) {
				t.Errorf("%s in a %s: %.200s", f.ID, name, got)
			}
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestValuesByTheirChecksumAndPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, secret string }{
		{`[["Accept","*/*"],["X-Api-Key","plain words"]]`, "plain words"},
		{`["Host","a","Authorization","plain words"]`, "plain words"},
		{`{"log":"headers=[('Accept', 'a'), ('X-Auth-Token', 'plain words')]"}`, "plain words"},
		{`{"sql":"CREATE USER ann IDENTIFIED BY 'plain words'"}`, "plain words"},
		{`{"sql":"ALTER USER ann IDENTIFIED WITH mysql_native_password BY \"plain words\""}`, "plain words"},
		{`{"text":"paid by 4111 1111 1111 1111 today"}`, "1111 1111"},
		{`{"text":"5555555555554444"}`, "5555555555554444"},
		{`{"text":"3782-822463-10005"}`, "822463"},
		{`{"number":4111111111111111}`, "4111111111111111"},
		{`{"text":"IBAN DE89 3704 0044 0532 0130 00, please"}`, "3704"},
		{`{"text":"GB82WEST12345698765432"}`, "WEST1234"},
	} {
		if got := string(new(redact.Redactor).JSON([]byte(tt.raw), nil)); strings.Contains(got, tt.secret) || !strings.Contains(got, redact.Mark) {
			t.Errorf("%s became %s", tt.raw, got)
		}
	}
	for _, raw := range []string{
		`{"text":"4111 1111 1111 1112"}`, `{"text":"DE89 3704 0044 0532 0130 01"}`, `{"number":4111111111111112}`,
		`{"id":"1234567890123456"}`, `{"id":"550e8400-e29b-41d4-a716-446655440000"}`, `{"commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}`,
		`["password","email"]`, `["content-type","text/plain","accept","a"]`, `{"text":"a gist, identified by the id"}`,
		`{"sentry":"release-2026.01.02-final"}`, `{"text":"jira: PROJECT-1234 in sprint 12"}`, `{"text":"bitbucket commit: da39a3ee5e6b4b0d3255bfef95601890afd80709"}`,
		`{"text":"discord, 2026-01-02T03:04:05Z"}`, `{"text":"linear: https://linear.app/team/issue/ABC-123/title"}`, `{"class":"ico-arrow-left-24-outline"}`,
	} {
		if got := string(new(redact.Redactor).JSON([]byte(raw), nil)); got != raw {
			t.Errorf("%s became %s", raw, got)
		}
	}
}
