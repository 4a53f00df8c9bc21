package known_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/known"
	"github.com/fairlead-go/fairlead/middleware"
)

// files are the files by the name of their server. Nothing in them is left over, and each is as the encoder writes it,
// so that a change shows what it changes.
func files(t *testing.T) map[string]known.File {
	t.Helper()
	list, err := known.Files().ReadDir("servers")
	if err != nil || len(list) == 0 {
		t.Fatalf("%d files, %v", len(list), err)
	}
	all := make(map[string]known.File)
	for _, f := range list {
		text, err := known.Files().ReadFile(path.Join("servers", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var read known.File
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&read); err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		var again bytes.Buffer
		e := json.NewEncoder(&again)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(read); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), text) {
			t.Errorf("%s is not as encoding/json writes it, with an indent of two blanks and the tools by name", f.Name())
		}
		server, isJSON := strings.CutSuffix(f.Name(), ".json")
		if !isJSON {
			t.Errorf("%s is no .json", f.Name())
		}
		all[server] = read
	}
	return all
}

var (
	aDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)
	aSource = regexp.MustCompile(`^(npm|pypi|go|oci|github|https) \S+ \S+$`)
)

func TestEachEntryIsWellFormed(t *testing.T) {
	t.Parallel()
	owner := make(map[string]string)
	for server, f := range files(t) {
		if f.Version != 1 || !aSource.MatchString(f.From) {
			t.Errorf("%s: version %d, from %q; want 1 and such as \"npm @scope/name 1.2.3\"", server, f.Version, f.From)
		}
		for name, entry := range f.Tools {
			if !strings.HasPrefix(name, server+"/") {
				t.Errorf("%s is in the file of %s", name, server)
			}
			if !aDigest.MatchString(entry.Digest) {
				t.Errorf("%s: want a digest, got %q", name, entry.Digest)
			}
			if other := owner[entry.Digest]; other != "" {
				t.Errorf("%s has the digest of %s", name, other)
			}
			owner[entry.Digest] = name
			if fault := faultOf(entry); fault != "" {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
	if len(known.All()) != len(owner) {
		t.Errorf("%d tools are known, want %d", len(known.All()), len(owner))
	}
}

// faultOf returns what is wrong with the review of an entry, "" for nothing. Its conditions are no less strict than its
// class (see pins.Decision).
func faultOf(entry known.Tool) string {
	r := entry.Review
	const most = 120
	switch err := r.Validate(); {
	case err != nil:
		return err.Error()
	case entry.Class != r.Class:
		return "its class is " + entry.Class.String() + ", and that of the review " + r.Class.String()
	case len(r.Reason) > most || strings.TrimSpace(r.Reason) != r.Reason || strings.ContainsAny(r.Reason, "\n\t"):
		return "the reason is a phrase of at most 120 bytes, in our own words"
	case r.Reviewer == "" || r.Date.IsZero():
		return "nobody reviewed it, or never"
	case r.Model+r.Prompt+r.Answer != "":
		return "it has what a model was sent or answered, which are other people's words"
	}
	for _, c := range r.Conditions {
		changes := c.Absent != c.Other
		for _, o := range c.Values {
			changes = changes || o.Class != c.Other
		}
		if !changes || c.Effect == "" || c.Word == "" {
			return "the condition on " + c.Name() + " gives one class alone, or says not why"
		}
	}
	return ""
}

func TestFaultsOfAnEntryAreFound(t *testing.T) {
	t.Parallel()
	var good known.Tool
	for _, f := range files(t) {
		for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
			if len(f.Tools[name].Review.Conditions) > 0 {
				good = f.Tools[name]
			}
		}
	}
	if fault := faultOf(good); fault != "" || good.Class == annotation.Safe {
		t.Fatalf("%s, and %q", good.Class, fault)
	}
	for name, spoil := range map[string]func(*known.Tool){
		"no reason":                  func(e *known.Tool) { e.Review.Reason = "" },
		"a long reason":              func(e *known.Tool) { e.Review.Reason = strings.Repeat("a", 121) },
		"nobody":                     func(e *known.Tool) { e.Review.Reviewer = "" },
		"a prompt":                   func(e *known.Tool) { e.Review.Prompt = "a" },
		"two classes":                func(e *known.Tool) { e.Class = annotation.Safe },
		"less than its conditions":   func(e *known.Tool) { e.Class, e.Review.Class = annotation.Safe, annotation.Safe },
		"a condition without reason": func(e *known.Tool) { e.Review.Conditions[0].Effect = "" },
		"a condition for nothing": func(e *known.Tool) {
			e.Review.Conditions = []annotation.Condition{{Argument: "/a", Absent: e.Class, Other: e.Class, Effect: "a", Word: "a"}}
		},
	} {
		bad := good
		bad.Review.Conditions = slices.Clone(good.Review.Conditions)
		if spoil(&bad); faultOf(bad) == "" {
			t.Errorf("%s: it is taken", name)
		}
	}
}

func TestAKnownToolHasItsReasonAsEvidence(t *testing.T) {
	t.Parallel()
	for server, f := range files(t) {
		for name, entry := range f.Tools {
			var digest middleware.Digest
			for d := range known.All() {
				if d.String() == entry.Digest {
					digest = d
				}
			}
			a := known.Of(&middleware.Tool{Server: "any", Digest: digest})
			e, _ := a.EvidenceOf(annotation.ReadOnlyHint)
			if a.Safety() != entry.Class || e.String() != "reviewed: "+entry.Review.Reason || len(a.Conditions) != len(entry.Review.Conditions) {
				t.Errorf("%s of %s: %s by %q with %d conditions", name, server, a.Safety(), e, len(a.Conditions))
			}
		}
	}
	if a := known.Of(&middleware.Tool{}); len(a.Evidence) != 0 || a.Safety() != annotation.Unknown {
		t.Errorf("a tool without a digest is %s", a.Safety())
	}
}
