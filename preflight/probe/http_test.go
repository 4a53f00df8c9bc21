package probe_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight/probe"
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	checkProbe(t, probe.HTTP, []probeCase{
		{"GET https://api.example.com/v1/users?id=7&page=2", probeRead, "GET"},
		{"HEAD http://example.com:8080/", probeRead, "HEAD"},
		{"OPTIONS *", probeRead, "OPTIONS"},
		{"OPTIONS /users", probeRead, ""},
		{"GET /users/7 HTTP/1.1", probeRead, ""},
		{"GET /users HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\nAuthorization: Bearer x\r\n\r\n", probeRead, ""},
		{"GET https://example.com/users?include_deleted=true", probeRisk, "deleted"}, // an alarm that need not be
		{"GET https://example.com/address/settings?format=json&limit=10", probeRead, ""},
		{"GET https://example.com/search?q=how+to+delete+a+branch", probeRead, ""},
		{"GET https://example.com/graphql?query={user(id:7){name}}", probeRead, ""},
		{"GET https://example.com/graphql?query=query%20A{a}&operationName=A", probeRead, ""},

		{"PUT https://example.com/users/7", probeWrite, "PUT"},
		{"PATCH /users/7", probeWrite, "PATCH"},

		{"POST https://example.com/users", probeRisk, "POST"},
		{"DELETE https://example.com/users/7", probeRisk, "DELETE"},
		{"CONNECT example.com:443", probeRisk, ""},
		{"TRACE https://example.com/", probeRisk, "TRACE"},
		{"PURGE https://example.com/", probeRisk, "PURGE"},
		{"get https://example.com/", probeRisk, "get"},
		{"Delete https://example.com/", probeRisk, "Delete"},
		{"GET", probeRisk, "half a request"},
		{"https://example.com/", probeRisk, "half a request"},
		{"", probeRisk, "half a request"},
		{"GET  https://example.com/", probeRisk, "behind the URL"},
		{" GET https://example.com/", probeRisk, ""},
		{"GET https://example.com/ DELETE", probeRisk, "behind the URL"},
		{"GET https://example.com/users/7/delete", probeRisk, "delete"},
		{"GET https://example.com/deleteUser/7", probeRisk, "delete"},
		{"GET https://example.com/bulkdelete", probeRisk, "bulkdelete"},
		{"GET https://example.com/DELETE_user", probeRisk, "delete"},
		{"GET https://example.com/%64elete", probeRisk, "delete"},
		{"GET https://example.com/DeLete/7", probeRisk, "delete"}, // many servers do not mind the case
		{"GET https://example.com/deLeTeUser", probeRisk, "deleteuser"},
		{"GET https://example.com/users?do=reSet", probeRisk, "reset"},
		{"GET https://example.com/users?deLete=7", probeRisk, "deLete"},
		{"GET https://example.com/GraphQL?id=7", probeRisk, "elsewhere"},
		{"GET https://example.com/%2564elete", probeRisk, "disguise"},
		{"GET https://example.com/logout", probeRisk, "logout"},
		{"GET https://example.com/users?action=delete", probeRisk, "action"},
		{"GET https://example.com/users?action=drop_all", probeRisk, "drop"},
		{"GET https://example.com/users?delete=7", probeRisk, "delete"},
		{"GET https://example.com/users?action=%2564elete", probeRisk, "disguise"},
		{"GET https://example.com/users?_method=x", probeRisk, "_method"},
		{"GET https://example.com/users?X-HTTP-Method-Override=y", probeRisk, "Override"},
		{"GET https://example.com/users?verb=POST", probeRisk, "post"},
		{"GET https://example.com/users?a=1;_method=DELETE", probeRisk, "read differently"},
		{"PUT https://example.com/users/7?_method=DELETE", probeRisk, "_method"},
		{"GET https://example.com/graphql?query=mutation{deleteUser(id:7){id}}", probeRisk, "GraphQL"},
		{"GET https://example.com/api?query=%23x%0Amutation{a}", probeRisk, "GraphQL"},
		{"GET https://example.com/graphql?id=8f3a", probeRisk, "elsewhere"},
		{"GET /users HTTP/1.1\r\nX-HTTP-Method-Override: DELETE\r\n\r\n", probeRisk, "Override"},
		{"GET /users HTTP/1.1\nHost: a\nx-method-override: PUT\n\n", probeRisk, "Override"},
		{"GET /users HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n", probeRisk, "Content-Length"},
		{"GET /users HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", probeRisk, "follows"},
		{"GET /a HTTP/1.1\r\nHost: a\r\n\r\nDELETE /b HTTP/1.1\r\nHost: a\r\n\r\n", probeRisk, "follows"},
		{wholeBuffer + "DELETE /b HTTP/1.1\r\nHost: a\r\n\r\n", probeRisk, "follows"},
		{"GET /a HTTP/1.1\r\nHost: a\r\nAccept: b\r\n X-HTTP-Method-Override: DELETE\r\n\r\n", probeRisk, "blank"},
		{"GET /a HTTP/1.1\r\nHost: a\r\nAccept: b\r\n\tX-HTTP-Method-Override: DELETE\r\n\r\n", probeRisk, "blank"},
		{"GET https://example.com/users/7/del", probeRisk, "del"},
		{"GET /users HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n", probeRisk, "Upgrade"},
		{"GET /users\r\nDELETE /users", probeRisk, "second line"},
		{"GET /users%0d%0aDELETE%20/users", probeRisk, "disguise"},
		{"GET /users\rX: y", probeRisk, "U+000D"},
		{"GET https://user:secret@example.com/", probeRisk, "password"},
		{"GET file:///etc/passwd", probeRisk, "file"},
		{"GET gopher://example.com/1", probeRisk, "gopher"},
		{"GET javascript:alert(1)", probeRisk, ""},
		{"GET //example.com/", probeRisk, "scheme"},
		{"GET example.com/users", probeRisk, "malformed URL"},
		{`GET https://example.com\@evil.com/`, probeRisk, "malformed URL"},
		{"GET https://example.com/\u202eeteled", probeRisk, "U+202E"},
		{"GET https://example.com/?q=" + strings.Repeat("x", 20<<10), probeRisk, "more than is read"},
	})
}

// wholeBuffer is a head that fills the buffer it is read through, so that what follows
// it is not in that buffer.
var wholeBuffer = "GET /a HTTP/1.1\r\nHost: a\r\nUser-Agent: " + strings.Repeat("x", 4096-len("GET /a HTTP/1.1\nHost: a\nUser-Agent: \n\n")) + "\r\n\r\n"

// PATCH is not idempotent by its RFC, and PUT is.
func TestHTTPRepeatsPutAndNotPatch(t *testing.T) {
	t.Parallel()
	if !probe.HTTP("PUT /users/7").Annotations.SafeToRetry() || probe.HTTP("PATCH /users/7").Annotations.SafeToRetry() {
		t.Error("want PUT repeatable and PATCH not")
	}
	if got := probe.HTTP("DELETE /users/7").Annotations; got.Destructive != annotation.Yes || got.SafeToRetry() {
		t.Errorf("DELETE is %s", got.Summary())
	}
}

func FuzzHTTP(f *testing.F) {
	for _, text := range []string{"GET https://example.com/a?b=c", "GET /a HTTP/1.1\r\nHost: b\r\nAccept: c\r\n\r\n", "OPTIONS *", "PUT /a", "GET /graphql?query={a}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := probe.HTTP(text)
		checkVerdict(t, got)
		if got.Annotations.Safety() != probeRead {
			return
		}
		line, _, _ := strings.Cut(text, "\n")
		target := strings.Fields(line)[1]
		if method := strings.Fields(line)[0]; method != "GET" && method != "HEAD" && method != "OPTIONS" {
			t.Errorf("%q is a read", text)
		}
		worse := []string{"DELETE " + text, text + "\r\n\r\nDELETE / HTTP/1.1\r\n\r\n", strings.Replace(text, " ", " file:", 1)}
		if target != "*" {
			worse = append(worse, "DELETE "+target, "POST "+target, "GET "+target+"/delete", "GET "+target+"?_method=DELETE", "GET "+target+"&_method=DELETE?_method=x")
		}
		for _, w := range worse {
			if v := probe.HTTP(w); v.Annotations.Safety() == probeRead && !strings.ContainsAny(target, "?#") {
				t.Errorf("%q is a read, and so is %q", text, w)
			}
		}
	})
}

func ExampleHTTP() {
	for _, text := range []string{
		"GET https://api.example.com/users/7",
		"PUT https://api.example.com/users/7",
		"GET https://api.example.com/users/7?action=delete",
		"POST https://api.example.com/users",
	} {
		v := probe.HTTP(text)
		fmt.Println(v.Annotations.Safety(), "-", v.Why)
	}
	// Output:
	// safe - GET
	// moderate - PUT
	// dangerous - the word "delete" in the parameter "action"
	// dangerous - the method "POST"
}

// corpus returns the lines of a file of testdata, each as a GET of one host.
func corpus(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var requests []string
	for line := range strings.Lines(string(text)) {
		requests = append(requests, "GET https://example.com"+strings.TrimSuffix(line, "\n"))
	}
	return requests
}

// A change by a GET is not a read, and a read stays one.
func TestHTTPCorpus(t *testing.T) {
	t.Parallel()
	writes := corpus(t, "http_writes.txt")
	for _, request := range writes {
		if v := probe.HTTP(request); v.Annotations.Safety() == probeRead {
			t.Errorf("%s is a read", request)
		}
	}
	reads, asked := corpus(t, "http_reads.txt"), 0
	for _, request := range reads {
		if v := probe.HTTP(request); v.Annotations.Safety() != probeRead {
			t.Logf("%s is not a read: %s", request, v.Why)
			asked++
		}
	}
	if t.Logf("%d writes, %d reads; %d of these are asked about", len(writes), len(reads), asked); asked*20 > len(reads) {
		t.Error("more than 5 % of the reads are asked about")
	}
}

func TestHTTPNounsAreNotVerbs(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/deploymentmanager/v2/projects", "/connectiontypes", "/assignedlocations", "/androidenterprise/v1/products",
		"/design/tokens", "/docs/markdown", "/certificate", "/templates/7/template", "/orders?offset=20&state=open",
	} {
		if v := probe.HTTP("GET https://example.com" + path); v.Annotations.Safety() != probeRead {
			t.Errorf("%s is not a read: %s", path, v.Why)
		}
	}
}
