package bm25_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/bm25"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{" -- !", ""},
		{"list_open_issues", "list open issues"},
		{"pods-list.v2/all", "pods list v2 all"},
		{"listIssues", "list issues listissues"},
		{"HTTPServer", "http server httpserver"},
		{"getURLs", "get urls geturls"},
		{"GitHub and GITHUB", "git hub github and github"},
		{"S3 auth0", "s3 auth0"},
		{"yesterday's", "yesterday s"},
		{"Ärger über naïve Öfen", "ärger über naïve öfen"},
		{"broken \xff bytes", "broken bytes"},
	} {
		if got := strings.Join(slices.Collect(bm25.Words(tt.text)), " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestStemJoinsTheFormsOfAWord(t *testing.T) {
	t.Parallel()
	for _, same := range []string{
		"delete deletes deleted deleting deletion",
		"create creates created creating creation",
		"query queries queried querying",
		"stop stops stopped stopping",
		"call calls called calling",
		"process processes processed processing",
		"search searches searching",
		"deploy deploys deployed deployment deployments",
		"document documents documentation",
		"migrate migrating migration migrations",
		"copy copies copied",
		"box boxes",
		"issue issues",
	} {
		forms := strings.Fields(same)
		for _, form := range forms {
			if got, want := bm25.Stem(form), bm25.Stem(forms[0]); got != want {
				t.Errorf("%s: got %q, want %q as for %s", form, got, want, forms[0])
			}
		}
	}
	for _, different := range []string{"comment com", "user use", "status stat", "feed fee", "news new", "string str", "element ele", "v1s v1", "analysis analys"} {
		words := strings.Fields(different)
		if a, b := bm25.Stem(words[0]), bm25.Stem(words[1]); a == b {
			t.Errorf("%s and %s have one stem, %q", words[0], words[1], a)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{"listIssues", "HTTPServer", "naïve\xff", "İI", "a's", "s", "ied", "ing", "tions"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for word := range bm25.Words(text) {
			if word == "" || strings.ContainsAny(word, " _-./") {
				t.Errorf("%q holds the word %q", text, word)
			}
			if stem := bm25.Stem(word); stem == "" || len(stem) > len(word) {
				t.Errorf("%q has the stem %q", word, stem)
			}
		}
	})
}
