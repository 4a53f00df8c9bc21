package redact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit/redact"
)

func TestSecretsAreTakenOutByName(t *testing.T) {
	t.Parallel()
	const secret = "hunter2!"
	for _, name := range []string{
		"password", "Password", "PASSWORD", "user_password", "userPassword", "pass word", "ｐａｓｓｗｏｒｄ", "pass\u200bword", "passwd", "passphrase",
		"token", "access_token", "accessToken", "X-Auth-Token", "refreshtoken", "csrfToken", "tokens",
		"secret", "client_secret", "clientSecret", "AWS_SECRET_ACCESS_KEY", "api_key", "apiKey", "API-KEY", "x-api-key", "apikey",
		"authorization", "Authorization", "proxy-authorization", "cookie", "Set-Cookie", "private_key", "privateKey", "ssh_key",
		"credentials", "creds", "pin", "otp", "cvv", "dsn", "connectionString", "jwt", "sessionId", "signature", "bearer", "mfa_code", "auth",
	} {
		for _, value := range []string{`"` + secret + `"`, `["` + secret + `"]`, `{"value":"` + secret + `"}`, `987654321`} {
			if value == `987654321` && name == "tokens" {
				continue // a count
			}
			var r redact.Redactor
			got := string(r.JSON([]byte(`{"deep":[{"`+name+`":`+value+`}],"kept":"x"}`), nil))
			if strings.Contains(got, "hunter2") || strings.Contains(got, "987654321") || !strings.Contains(got, `"kept":"x"`) || !strings.Contains(got, name[:1]) {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"max_tokens":4096,"password":null,"has_token":true,"secret":"","author":"ann","key":"colour","name":"pinned","value":"red"}`,
		`{"path":"/home/ann/projects/fairlead/redact/redact_test.go","n":123456789012345678901234567890}`,
		`{"id":"7f9c24e8-3b12-4fef-91c0-56a2d1b0c7aa","sha":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`,
		`{"text":"The quick brown fox, 42 times. See https://example.com/a?b=c#d and mail ann@example.com"}`,
		`["--output","x","a-long-name-of-a-branch-that-goes-on-and-on-for-2024"]`,
	} {
		var r redact.Redactor
		var want any
		_ = json.Unmarshal([]byte(raw), &want)
		got := string(r.JSON([]byte(raw), nil))
		if strings.Contains(got, "redacted") {
			t.Errorf("got  %s\nfrom %s", got, raw)
		}
	}
}

func TestSecretsAreTakenOutByShape(t *testing.T) {
	t.Parallel()
	for name, row := range map[string][2]string{ // the text, the secret in it
		"PEM":           {"key: -----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY----- end", "MIIEow"},
		"cut-off PEM":   {"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "b3BlbnNz"},
		"JWT":           {"see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP", "dBjftJeZ4CVP"},
		"AWS":           {"AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"},
		"GitHub":        {"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijkl"},
		"GitHub's new":  {"github_pat_11ABCDEFG0abcdefghijkl_mnop", "11ABCDEFG0"},
		"GitLab":        {"glpat-abcdefghij0123456789", "abcdefghij"},
		"Slack":         {"xoxb-123456789012-abcdefghijkl", "123456789012"},
		"Slack's hooks": {"https://hooks.slack.com/services/T000/B000/XXXXyyyy", "XXXXyyyy"},
		"Stripe":        {"use sk_live_abcdefgh12345678 now", "abcdefgh12345678"},
		"a model's":     {"sk-ant-api03-abcdefghijklmnop", "abcdefghijkl"},
		"Google":        {"AIzaSyA1234567890abcdefghijklmnopqrstuv", "1234567890"},
		"bearer":        {"curl -H 'Accept: x' Bearer abcdef123456", "abcdef123456"},
		"a header":      {"Authorization: Digest username=ann, response=6629fae4", "6629fae4"},
		"cookies":       {"Cookie: a=1; session=deadbeef", "deadbeef"},
		"basic":         {"Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpw"},
		"userinfo":      {"postgres://ann:s3cr3t@db.example.com/x", "s3cr3t"},
		"odd userinfo":  {"mysql://ann:s3/cr@3t@db.example.com/x", "cr@3t"},
		"token as user": {"https://abcdef0123@github.com/x/y", "abcdef0123"},
		"assignment":    {"export DB_PASSWORD=hunter2", "hunter2"},
		"quoted":        {`{"api_key": "hunter2 and more"} oops`, "and more"},
		"escaped":       {`{\"password\":\"hunter2\"} oops`, "hunter2"},
		"B267 prose":    {"my password is hunter2", "hunter2"},
		"YAML":          {"client-secret: hunter2\nregion: eu", "hunter2"},
		"flag":          {"mysql --password hunter2 -u ann", "hunter2"},
		"flag=":         {"mysql --password=hunter2 -u ann", "hunter2"},
		"a query":       {"https://x.example/y?sig=abc%2Fdef&z=1", "abc%2Fdef"},
		"random":        {"blob a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ end", "a1B2c3"},
	} {
		var r redact.Redactor
		if got := r.Text(row[0]); strings.Contains(got, row[1]) || !strings.Contains(got, redact.Mark) {
			t.Errorf("%s: %s", name, got)
		}
		got := string(r.JSON([]byte(quote(t, map[string]any{"text": []any{row[0]}})), nil))
		if strings.Contains(got, strings.Trim(quote(t, row[1]), `"`)) {
			t.Errorf("%s, in JSON: %s", name, got)
		}
	}
}

func quote(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSecretsAreTakenOutBySchema(t *testing.T) {
	t.Parallel()
	for name, row := range map[string][2]string{ // the schema, the value
		"write-only":        {`{"properties":{"note":{"writeOnly":true}}}`, `{"note":"hidden7"}`},
		"a number":          {`{"properties":{"n":{"writeOnly":true,"type":"integer"}}}`, `{"n":7777777,"x":"of 7777777, hidden7"}`},
		"format password":   {`{"properties":{"note":{"type":"string","format":"password"}}}`, `{"note":"hidden7"}`},
		"an object":         {`{"properties":{"a":{"writeOnly":true}}}`, `{"a":{"b":["hidden7"]}}`},
		"deep":              {`{"properties":{"a":{"items":{"properties":{"b":{"writeOnly":true}}}}}}`, `{"a":[{"b":"hidden7"}]}`},
		"by place":          {`{"properties":{"a":{"prefixItems":[{},{"writeOnly":true}]}}}`, `{"a":["x","hidden7"]}`},
		"any other":         {`{"additionalProperties":{"writeOnly":true}}`, `{"a":"hidden7"}`},
		"by pattern":        {`{"patternProperties":{"^x":{"writeOnly":true}}}`, `{"xa":"hidden7"}`},
		"a broken pattern":  {`{"patternProperties":{"(":{"writeOnly":true}}}`, `{"xa":"hidden7"}`},
		"allOf":             {`{"allOf":[{"properties":{"a":{"writeOnly":true}}}]}`, `{"a":"hidden7"}`},
		"one of":            {`{"properties":{"a":{"oneOf":[{"type":"integer"},{"writeOnly":true}]}}}`, `{"a":"hidden7"}`},
		"then":              {`{"if":{},"then":{"properties":{"a":{"writeOnly":true}}}}`, `{"a":"hidden7"}`},
		"a reference":       {`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"writeOnly":true}}}`, `{"a":"hidden7"}`},
		"an escaped one":    {`{"properties":{"a":{"$ref":"#/%24defs/s~1t"}},"$defs":{"s/t":{"writeOnly":true}}}`, `{"a":"hidden7"}`},
		"recursive":         {`{"properties":{"kids":{"items":{"$ref":"#"}},"s":{"writeOnly":true}}}`, `{"kids":[{"kids":[{"s":"hidden7"}]}]}`},
		"endless":           {`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"a":"hidden7"}`},
		"too many to look":  {`{"properties":{"a":{"anyOf":[` + strings.TrimSuffix(strings.Repeat("{},", 1500), ",") + `]}}}`, `{"a":"hidden7"}`},
		"echoed elsewhere":  {`{"properties":{"note":{"writeOnly":true}}}`, `{"a_first":"it says hidden7 here","note":"hidden7"}`},
		"JSON in a text":    {`{"properties":{"a":{"contentSchema":{"properties":{"b":{"writeOnly":true}}}}}}`, `{"a":"{\"b\":\"hidden7\"}"}`},
		"by name in a text": {`{}`, `{"a":"[{\"b\":{\"password\":\"hidden7\"}}]"}`},
		"texts in texts":    {`{}`, `{"a":` + nested(t, `{"password":"hidden7"}`, 3) + `}`},
		"too many texts":    {`{}`, `{"a":` + nested(t, `{"password":"hidden7"}`, 20) + `}`},
		"a pair":            {`{}`, `{"headers":[{"name":"Authorization","value":"hidden7"}]}`},
		"a command":         {`{}`, `{"args":["login","--api-key","hidden7"]}`},
	} {
		var schema any
		if err := json.Unmarshal([]byte(row[0]), &schema); err != nil {
			t.Fatal(name, err)
		}
		var r redact.Redactor
		got := string(r.JSON([]byte(row[1]), schema))
		if name == "a number" {
			got = strings.ReplaceAll(got, "hidden7", "")
		}
		if strings.Contains(got, "hidden7") || strings.Contains(got, "7777777") || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func nested(t testing.TB, s string, times int) string {
	t.Helper()
	for range times {
		s = quote(t, s)
	}
	return s
}

// Neither result nor error repeats a secret of the arguments.
func TestWhatWasHiddenOnceStaysHidden(t *testing.T) {
	t.Parallel()
	var r redact.Redactor
	r.JSON([]byte(`{"password":"a \"quoted\" word","Authorization":"Bearer abcdefgh"}`), nil)
	for _, s := range []string{`no user with a "quoted" word`, fmt.Sprintf("got %q", `a "quoted" word`), "token abcdefgh is stale"} {
		if got := r.Text(s); strings.Contains(got, "word") && strings.Contains(got, "quoted") || strings.Contains(got, "abcdefgh") {
			t.Errorf("%s", got)
		}
	}
	got := string(r.Result([]byte(`{"content":[{"type":"text","text":"{\"echo\":\"a \\\"quoted\\\" word\"}"}]}`), nil))
	if strings.Contains(got, "quoted") {
		t.Errorf("%s", got)
	}
}

func TestResultIsLookedAtWithItsSchema(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"properties": map[string]any{"note": map[string]any{"$ref": "#/$defs/s"}}, "$defs": map[string]any{"s": map[string]any{"writeOnly": true}}}
	var r redact.Redactor
	got := string(r.Result([]byte(`{"content":[{"type":"text","text":"{\"note\":\"hidden7\"}"}],"structuredContent":{"note":"hidden8"}}`), schema))
	if strings.Contains(got, "hidden") || !strings.Contains(got, "note") {
		t.Errorf("%s", got)
	}
}

// At a limit more is taken out, and what comes after cannot be known.
func TestLimitsTakeOutMore(t *testing.T) {
	t.Parallel()
	long := `{"text":"` + strings.Repeat("x", redact.MaxBytes) + `","note":"hidden7"}`
	deep := strings.Repeat(`{"a":`, 1000) + `"hidden7"` + strings.Repeat(`}`, 1000)
	for name, raw := range map[string]string{"long": long, "deep": deep, "no JSON": `{"password":"hidden7`, "two values": `{} {"a":"hidden7"}`} {
		var r redact.Redactor
		if got := string(r.JSON([]byte(raw), nil)); strings.Contains(got, "hidden7") || !json.Valid([]byte(got)) {
			t.Errorf("%s: %.100s", name, got)
		}
		if name == "deep" {
			continue
		}
		if got := r.Text("it was hidden7"); strings.Contains(got, "hidden7") {
			t.Errorf("%s: what was in it is repeated: %s", name, got)
		}
	}
	var r redact.Redactor
	if got := r.Text(strings.Repeat("y", redact.MaxBytes+1)); len(got) > 100 {
		t.Errorf("a long text: %.100s", got)
	}
	if r.JSON(nil, nil) != nil || r.JSON([]byte("  "), nil) != nil {
		t.Error("nothing became something")
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"a":"{\"password\":\"x\"}"}`, `{"properties":{"a":{"$ref":"#"}}}`)
	f.Add(`[["--token","x"],{"name":"cookie","value":1}]`, `true`)
	f.Fuzz(func(t *testing.T, raw, schema string) {
		var s any
		_ = json.Unmarshal([]byte(schema), &s)
		const secret = "s3cr3t-s3cr3t"
		var r redact.Redactor
		r.JSON([]byte(`{"password":"`+secret+`"}`), nil)
		for _, got := range []string{string(r.JSON([]byte(raw), s)), string(r.Result([]byte(raw), s))} {
			if got != "" && !json.Valid([]byte(got)) {
				t.Fatalf("no JSON: %s", got)
			}
			if strings.Contains(got, secret) || strings.ContainsAny(got, "\n\r\u2028") {
				t.Fatalf("%s", got)
			}
		}
		if got := r.Text(raw + secret + raw); strings.Contains(got, secret) {
			t.Fatalf("%s", got)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	raw := []byte(`{"path":"/home/ann/notes/2024-01-01.md","content":"Some text, of a few words and a line.","mode":"overwrite","password":"hunter2","depth":3}`)
	schema := map[string]any{"properties": map[string]any{"path": map[string]any{"type": "string"}, "content": map[string]any{"type": "string"}}}
	b.ReportAllocs()
	for b.Loop() {
		var r redact.Redactor
		r.JSON(raw, schema)
	}
}
