package probe_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/preflight/probe"
)

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
			t.Logf("%s is none: %s", request, v.Why)
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
			t.Errorf("%s is none: %s", path, v.Why)
		}
	}
}
