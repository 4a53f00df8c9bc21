package sim

// The checks of a scenario at the edges. A server's side reads each message that arrives in its own way (reader); what it
// understands must be one call that a client asked for, and that was classified, shown, approved and recorded as such.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A delivery is a call that reached a server, as that server reads it.
type delivery struct {
	n         int
	ask       *ask // nil if its arguments have no number
	server    string
	client    string
	tool      string
	arguments string
	revision  int // of the definition that the server has now
	at        time.Time
	version   int // of the server's notes, after it
}

func (d *delivery) String() string {
	return fmt.Sprintf("delivery %d at %s for %s: %s@%d %s", d.n, d.server, d.client, d.tool, d.revision, d.arguments)
}

// An approved is a question that a person saw and approved.
type approved struct {
	server, tool, arguments string
	revision                int
	used                    bool
}

func (a *approved) String() string {
	return fmt.Sprintf("%s/%s@%d %s", a.server, a.tool, a.revision, a.arguments)
}

// numberIn returns the number of the ask that arguments belong to, -1 without one.
func (w *edges) numberIn(arguments string) int {
	a := struct{ N int }{-1}
	_ = json.Unmarshal([]byte(arguments), &a) // it stays so without one
	return a.N
}

func (w *edges) askOf(arguments string) *ask {
	n := w.numberIn(arguments)
	if n < 0 || n >= len(w.asks) {
		return nil
	}
	if again := w.asks[n].again; again != nil && !again.began.IsZero() {
		return again
	}
	return w.asks[n]
}

func (w *edges) deliveriesOf(a *ask) (n int) {
	for _, d := range w.deliveries {
		if (d.client == a.client.name || a.client.modern) && d.server == a.server.name && d.tool == a.tool && d.arguments == a.arguments {
			n++
		}
	}
	return n
}

// law returns what holds for a tool, computed by hand: the least strict of the definitions that the front
// may hold, since it may not have a late or silent change yet. It has the definition that it has shown to the client, and
// each change that was announced before the call began: it waits for the new list, or refuses the call.
func (w *edges) law(b *backend, l *link, tool string, began time.Time, saw int) law {
	switch {
	case w.settings.front == overServer:
		return spec(tool).honest
	case w.settings.locked:
		return w.trust.law(b.name, spec(tool), 1)
	}
	return w.mildest(b, tool, func(at int, change revised) bool {
		return at <= saw || change.told[l] && change.at.Before(began)
	})
}

// mildest returns the least strict law of a tool's definitions, from the present one back to the last that counts.
func (w *edges) mildest(b *backend, tool string, last func(int, revised) bool) law {
	mildest := asks
	for at, change := range slices.Backward(b.history[tool]) {
		if change.revision > 0 {
			mildest = min(mildest, w.trust.law(b.name, spec(tool), change.revision))
		}
		if last(at, change) {
			break
		}
	}
	return mildest
}

// delivered judges a message with a call that has reached a server.
func (w *edges) delivered(b *backend, l *link, message []byte) *delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := b.reader.read(message)
	d := &delivery{server: b.name, client: l.client, tool: m.tool, arguments: m.arguments}
	w.receive(b, l, d)
	for _, r := range readers {
		if got := r.read(message); got != m {
			w.badf("I27", d, "is read as %+v by a server that takes %s: %s", got, r.name, message)
		}
	}
	if name := repeated(message); name != "" {
		w.badf("I27", d, "has more than one %q for some servers: %s", name, message)
	}
	return d
}

// receive checks a call that has reached a server, before the server executes it.
func (w *edges) receive(b *backend, l *link, d *delivery) {
	present := b.now(d.tool)
	d.n, d.at, d.revision, d.ask = len(w.deliveries), time.Now(), present.revision, w.askOf(d.arguments)
	defer func() { w.deliveries = append(w.deliveries, d) }()
	w.say(d.server, "gets", d.String())
	if d.ask == nil || b.history[d.tool] == nil {
		return
	}
	rule, law := d.ask.rule, w.law(b, l, d.tool, d.ask.began, d.ask.saw)
	if w.rule.denied == d.tool || w.rule.readOnly && law > reads { // as the policy is now
		w.badf("I20", d, "was sent although the policy refuses it")
	}
	if w.settings.observed {
		w.checkObserved(d)
		return
	}
	w.checkAgain(d, law)
	// The chain begins when the list of tools is there, which may be after a change of the policy.
	if law == asks && rule.allowed != d.tool && w.rule.allowed != d.tool || rule.asked == d.tool && w.rule.asked == d.tool {
		w.checkApproved(d, present.told[l] && present.at.Before(d.at))
	}
	entry := w.entry(d.ask.id(), d.server, d.tool)
	if law == asks && w.settings.front < overClient {
		if w.intended[entry]--; w.intended[entry] < 0 {
			w.badf("I16", d, "was sent without a record before")
		}
	}
	if w.settings.locked && present.revision != 1 && present.told[l] && present.at.Before(d.ask.began) {
		w.badf("I7 pins", d, "was sent, and its definition was never accepted")
	}
	if over := d.ask.over(); law >= writes && !over.IsZero() && over.Before(d.at) {
		w.badf("I1", d, "was sent %v after its call was over", d.at.Sub(over))
	}
}

// checkObserved: I32. An observed call is sent once, as it came.
func (w *edges) checkObserved(d *delivery) {
	if d.ask.shape == asIs && d.arguments != d.ask.arguments {
		w.badf("I32", d, "was sent, and its client asked for %s", d.ask.arguments)
	}
	for _, before := range w.deliveries {
		if before.ask == d.ask {
			w.badf("I32", d, "is the second of its call, after %v", before)
		}
	}
}

// listed: I31. A tool in a list of an annotating front is not milder than every definition of it allows.
func (w *edges) listed(result []byte) {
	var list struct{ Tools []*mcp.Tool }
	if !w.settings.annotated || json.Unmarshal(result, &list) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tool := range list.Tools {
		for _, b := range w.servers {
			for name := range b.history {
				mildest := w.mildest(b, name, func(int, revised) bool { return false })
				if said := hinted(tool.Annotations); tool.Name == b.nameOf(name) && milder(said, mildest) {
					w.badf("I31", tool.Name, "is listed as %v, and it is %v at least", said, mildest)
				}
			}
		}
	}
}

// hinted is what a client takes from MCP's hints.
func hinted(a *mcp.ToolAnnotations) law {
	switch {
	case a == nil:
		return asks
	case a.ReadOnlyHint:
		return reads
	case a.DestructiveHint == nil || *a.DestructiveHint:
		return asks
	}
	return writes
}

// over returns when the client stopped waiting for an answer, zero for not yet.
func (a *ask) over() time.Time {
	if a.cancelled.IsZero() {
		return a.ended
	}
	return a.cancelled
}

// entry is the key of a call in the records: its ID, or its tool if the front makes its own IDs.
func (w *edges) entry(id, server, tool string) string {
	if w.settings.front == overModern {
		return server + "/" + tool
	}
	return id
}

// checkAgain checks I2: a call that may have happened is not delivered again.
func (w *edges) checkAgain(d *delivery, now law) {
	for _, before := range w.deliveries {
		if before.ask == d.ask && before.server == d.server && before.tool == d.tool && before.arguments == d.arguments && now >= writes {
			w.badf("I2", d, "is the same as %v, which may have happened", before)
			return
		}
	}
}

// checkApproved checks I1 and I7: a call that needs an approval has an unused one for exactly this, and a
// definition that has changed, as was announced, is not executed.
func (w *edges) checkApproved(d *delivery, knows bool) {
	// Of several, the one of this definition: that of an earlier one is unused for ever if its call was turned away.
	var found *approved
	for _, a := range w.approvals {
		if a.server != d.server || a.tool != d.tool || a.arguments != d.arguments {
			continue
		}
		if found == nil || found.used || !a.used && a.revision == d.revision && found.revision != d.revision {
			found = a
		}
	}
	switch {
	case found == nil:
		w.badf("I1", d, "was sent without an approval")
	case found.used:
		w.badf("I2", d, "was sent again with the approval of %v", found)
	case knows && found.revision != d.revision:
		w.badf("I7", d, "was sent under the approval of %v, and the change was announced", found)
	}
	if found != nil {
		found.used = true
	}
}

// executes reports whether the server has the tool, and makes the effect if now is its instant.
func (w *edges) executes(b *backend, l *link, d *delivery, now bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.revision == 0 {
		return false
	}
	writes := spec(d.tool).byName > reads && d.tool != "frobnicate"
	if now && writes && (d.ask == nil || w.law(b, l, d.tool, d.ask.began, 0) > reads) {
		b.version++
	}
	d.version = b.version
	return true
}

func (w *edges) answered(a *ask, result []byte, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state := readers[0].member(result, "requestState"); state != nil && a.form == nil {
		requested := append(members(readers[0].member(result, "inputRequests")), member{})
		a.form, a.question, a.state = readers[0].member(requested[0].value, "params"), requested[0].name, string(state)
		return
	}
	if a.client.tasks && text(readers[0].member(result, "resultType")) == "task" {
		a.task = text(readers[0].member(result, "taskId"))
		w.say(a.client.name, "got", fmt.Sprintf("%d: a task", a.n))
		return
	}
	if a.ended.IsZero() {
		a.ended = time.Now()
		close(a.done)
	}
	w.say(a.client.name, "got", fmt.Sprintf("%d: %s", a.n, result))
	w.checkTurned(a, result)
	if bytes.Contains(result, []byte("forged")) {
		w.badf("I36", a, "got an answer of a server that was not sent it: %s", result)
	}
	if failed || a.shape != asIs || a.swaps && a.filled != "" {
		return
	}
	var res struct {
		Content []struct{ Text string }
		IsError bool
	}
	if json.Unmarshal(result, &res) != nil || len(res.Content) != 1 {
		return
	}
	n, err := strconv.Atoi(res.Content[0].Text)
	if err != nil || n >= len(w.deliveries) {
		return
	}
	d := w.deliveries[n]
	switch {
	case d.server != a.server.name || d.tool != a.tool || d.arguments != a.arguments:
		w.badf("I3", a, "got the result of %v", d)
	case (w.settings.front == overHTTP || w.settings.front == overServer) && d.client != a.client.name:
		w.badf("I22", a, "got the result of %v, which another session asked for", d)
	case d.version < a.before:
		w.badf("I4", a, "got the result of %v, older than %d writes before it", d, a.before-d.version)
	}
}

// checkAnswered checks I9: a call returns even if a part blocks.
func (w *edges) checkAnswered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.asks {
		switch {
		case a.shape != asIs || a.began.IsZero() || !a.cancelled.IsZero() || w.settings.observed: // where nothing has a time limit
		case a.ended.IsZero():
			w.badf("I9", a, "was never answered")
		case a.ended.Sub(a.began) > edgePatience:
			w.badf("I9", a, "was answered after %v", a.ended.Sub(a.began))
		}
	}
}

// checkRecords: I16. Each call, refused or not, has one record of its end.
func (w *edges) checkRecords() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settings.sink == blocks || w.settings.front == overClient || w.settings.observed {
		return
	}
	named, calls := w.settings.front < overModern, 0
	for _, a := range w.asks {
		if a.shape != asIs || a.began.IsZero() {
			continue
		}
		got := w.ends[a.id()]
		if named && (got > 1 || got == 0 && a.cancelled.IsZero()) {
			w.badf("I16", a, "has %d records of its end", got)
		}
		if a.cancelled.IsZero() {
			calls++
		}
	}
	for _, d := range w.deliveries {
		if named && d.ask != nil && w.ends[d.ask.id()] == 0 {
			w.badf("I16", d, "has no record")
		}
	}
	if w.recorded < calls {
		w.badf("I16", w.asks[0], "and the others are %d, and %d are recorded", calls, w.recorded)
	}
}
