package article_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/bench/article"
)

func TestInferAsTheOriginalDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, description string
		want              article.Hints
	}{
		{"getUser", "", article.Hints{ReadOnly: true, Complexity: "simple"}},
		{"get_user", "", article.Hints{ReadOnly: true, Complexity: "simple"}},
		{"deleteUser", "", article.Hints{Destructive: true, Complexity: "simple"}},
		{"getAndDelete", "", article.Hints{ReadOnly: true, Destructive: true, Complexity: "simple"}},
		{"update_note", "", article.Hints{Idempotent: true, Complexity: "simple"}},
		{"memory.show", "", article.Hints{ReadOnly: true, Complexity: "simple"}},
		{"create_invoice", "Create an invoice and get its ID.", article.Hints{ReadOnly: true, Complexity: "simple"}},
		{"forgetPassword", "Sends a reset link", article.Hints{Destructive: true, Complexity: "simple"}},
		{"purgeall", "", article.Hints{Complexity: "simple"}},
		{"x", "Analyze it", article.Hints{Complexity: "complex"}},
	} {
		if got := article.Infer(c.name, c.description); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}
