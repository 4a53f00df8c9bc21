package middlewaretest

import (
	"testing"

	"github.com/fairlead-go/fairlead/middleware"
)

// Names returns the checks' names in order.
func Names() []string {
	var names []string
	for i := range checks {
		names = append(names, checks[i].name)
	}
	return names
}

// Sentences returns what the checks quote.
func Sentences() []string {
	var sentences []string
	for i := range checks {
		sentences = append(sentences, checks[i].sentence)
	}
	return sentences
}

// Faults returns what the named check finds.
func Faults(t *testing.T, name string, m middleware.Middleware) []string {
	t.Helper()
	for i := range checks {
		if checks[i].name == name {
			return checks[i].faults(t, m, classes(t))
		}
	}
	t.Fatalf("no check is called %q", name)
	return nil
}
