package middlewaretest

import (
	"testing"

	"github.com/fairlead-go/fairlead/middleware"
)

// Sentences returns what the checks quote.
func Sentences() []string {
	var sentences []string
	for _, c := range checks {
		sentences = append(sentences, c.sentence)
	}
	return sentences
}

// Faults returns what the check of a sentence finds.
func Faults(t *testing.T, sentence string, m middleware.Middleware) []string {
	t.Helper()
	for _, c := range checks {
		if c.sentence == sentence {
			return c.faults(t, m, classes())
		}
	}
	t.Fatalf("no check quotes %q", sentence)
	return nil
}
