package sim

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	policyfile "github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

// A ruling is a policy, in its file and for the judge.
type ruling struct {
	denied, asked, allowed string // a tool of every server, "" for none
	readOnly               bool
}

var rulings = []ruling{{}, {denied: "create_note"}, {readOnly: true}, {asked: "set_note"}, {allowed: "delete_note"}}

func (r *ruling) text() []byte {
	var rules []string
	for decide, tool := range map[string]string{"deny": r.denied, "ask": r.asked, "allow": r.allowed} {
		for _, server := range []string{trusty, liar} {
			if tool != "" {
				rules = append(rules, fmt.Sprintf(`{"tool":"%s/%s","decide":"%s"}`, server, tool, decide))
			}
		}
	}
	return fmt.Appendf(nil, `{"trust":["%s"],"readOnly":%t,"rules":[%s],"approvals":{"timeout":"25s"},"timeout":{"default":"8s"}}`,
		trusty, r.readOnly, strings.Join(rules, ","))
}

// policies are the rulings, read once for all scenarios without a file.
var policies = func() map[*ruling]*policyfile.Policy {
	all := make(map[*ruling]*policyfile.Policy)
	for i := range rulings {
		parsed, err := policyfile.Parse("sim", rulings[i].text())
		if err != nil {
			panic(err)
		}
		all[&rulings[i]] = parsed
	}
	return all
}()

// openPolicy returns the func that the proxy calls for its policy. A file counts from when it was read.
func (w *edges) openPolicy(t *testing.T) func() *policyfile.Policy {
	if !w.settings.filed {
		return func() *policyfile.Policy {
			w.mu.Lock()
			defer w.mu.Unlock()
			return policies[w.rule]
		}
	}
	w.file = filepath.Join(t.TempDir(), "policy.json")
	w.written = w.rule
	w.replaceFile(w.rule.text())
	live, err := policyfile.OpenLive(w.file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	last := live.Now()
	return func() *policyfile.Policy {
		now := live.Now()
		w.mu.Lock()
		defer w.mu.Unlock()
		if now != last {
			last, w.rule = now, w.written
		}
		return now
	}
}

// replaceFile puts a text in the place of the policy's file, or a pipe without one.
func (w *edges) replaceFile(text []byte) {
	_ = os.Remove(w.file) // it does not exist at first
	put := func() error { return os.WriteFile(w.file, text, 0o600) }
	if text == nil {
		put = func() error { return mkfifo(w.file) }
	}
	if err := put(); err != nil {
		panic(err) // the disk is the test's own
	}
}

// swapPolicy changes the policy. Its file may be broken for a while before, and changes nothing then.
func (w *edges) swapPolicy() {
	swap := &rulings[w.settings.rulings[1]]
	w.say("**", "the policy changes", "")
	if !w.settings.filed {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rule = swap
		return
	}
	if broken := w.dice(forEdges, 9, 0).IntN(3); broken > 0 {
		w.replaceFile([][]byte{nil, []byte(`{"rules":[`)}[broken-1])
		time.Sleep(5 * time.Second)
	}
	w.mu.Lock()
	w.written = swap
	w.replaceFile(swap.text())
	w.mu.Unlock()
	time.Sleep(2 * time.Second)
	w.policy()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rule != swap {
		w.badf("I20", w.asks[0], "and the others are under a policy that its file no longer has")
	}
}
