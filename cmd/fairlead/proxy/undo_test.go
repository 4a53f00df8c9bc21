package proxy_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/middleware"
)

// A call that ran is taken back by its opposite, in the chain and with a question of its own, whatever the policy allows.
func TestCallIsTakenBackWithAQuestionOfItsOwn(t *testing.T) {
	t.Parallel()
	const allowed = `{"rules":[{"tool":"plain/lock_room","decide":"allow","class":"dangerous"},{"tool":"plain/unlock_room","decide":"allow"}]}`
	for _, tt := range []struct {
		name, policy string
		asked        int // about the call itself
		say          hitl.Verdict
		want         string // error of the undo
	}{
		{"asked about, approved", `{}`, 1, hitl.Approved, ""},
		{"allowed by a rule, approved", allowed, 0, hitl.Approved, ""},
		{"allowed by a rule, denied", allowed, 0, hitl.Denied, "denied"},
		{"denied by a rule", `{"rules":[{"tool":"plain/unlock_room","decide":"deny"}]}`, 1, hitl.Approved, "the policy denies it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newPlain(sendRoom + "," + openRoom)
			person := &asked{}
			var mu sync.Mutex
			var found []hitl.Undo
			var back []proxy.Returning
			records := new(ends)
			c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, tt.policy), Confirm: person, Audit: records, Undoable: func(_ middleware.Call, by hitl.Undo, takeBack proxy.Returning) {
				mu.Lock()
				defer mu.Unlock()
				found, back = append(found, by), append(back, takeBack)
			}}))
			c.call(`{"name":"lock_room","arguments":{"id":"7"}}`)
			if len(person.all) != tt.asked || len(found) != 1 || string(found[0].Arguments) != `{"id":"7"}` {
				t.Fatalf("%d questions; %+v", len(person.all), found)
			}
			person.say = func(hitl.Request) hitl.Decision { return hitl.Decision{Verdict: tt.say, By: "ann"} }
			err := back[0](t.Context(), "bob")
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if strings.Contains(tt.want, "policy") {
				if len(person.all) != tt.asked || strings.Contains(strings.Join(s.calls(), "\n"), "unlock_room") {
					t.Errorf("%d questions, calls %q", len(person.all), s.calls())
				}
				return
			}
			if len(person.all) != tt.asked+1 {
				t.Fatalf("%d questions, want one more", len(person.all))
			}
			if q := person.all[tt.asked]; q.Tool.Name() != "unlock_room" || q.Why != "bob wants to take back the call of plain/lock_room, on the page of approvals." || !q.Anew || len(q.Offers) > 0 {
				t.Errorf("asked %+v", q)
			} else if got, want := display.Of(q).Asker, `"the approvals page" asks for plain/unlock_room on behalf of bob`; !strings.HasPrefix(got, want) {
				t.Errorf("it shows %q, want %q", got, want)
			}
			calls := strings.Join(s.calls(), "\n")
			if got := strings.Contains(calls, "unlock_room"); got != (tt.say == hitl.Approved) {
				t.Errorf("unlocked: %v\n%s", got, calls)
			}
			if got := records.of("unlock_room"); len(got) != 1 {
				t.Errorf("the record has %d ends of it", len(got))
			}
		})
	}
}

// ends keeps the ends of a record.
type ends struct {
	mu  sync.Mutex
	all []audit.Record
}

func (e *ends) Write(_ context.Context, r audit.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.Kind == audit.End {
		e.all = append(e.all, r)
	}
	return nil
}

func (e *ends) of(tool string) (all []audit.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.all {
		if r.Tool == tool {
			all = append(all, r)
		}
	}
	return all
}
