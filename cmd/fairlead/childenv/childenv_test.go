package childenv_test

import (
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/childenv"
)

func TestEnvironIsWithoutOurKeys(t *testing.T) {
	keys := []string{"FAIRLEAD_STORE_KEY", "FAIRLEAD_STORE_NAME_KEY", "FAIRLEAD_WEBHOOK_KEY", "FAIRLEAD_JUDGE_KEY", "fairlead_store_key"}
	others := []string{"FAIRLEAD_RECORD", "GITHUB_KEY", "STORE_KEY"}
	for _, name := range slices.Concat(keys, others) {
		t.Setenv(name, "secret")
	}
	got := childenv.Environ()
	for _, name := range keys {
		if slices.Contains(got, name+"=secret") {
			t.Errorf("a server gets %s", name)
		}
	}
	for _, name := range others {
		if !slices.Contains(got, name+"=secret") {
			t.Errorf("a server does not get %s", name)
		}
	}
}
