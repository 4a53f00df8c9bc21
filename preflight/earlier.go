package preflight

import (
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	lru "github.com/hashicorp/golang-lru/v2"
)

// maxEarlier is how many calls' answers are remembered.
const maxEarlier = 1024

// earlier remembers the strictest answer to each of the last calls, by scope, tool
// and exact arguments. It never spares a question and never lowers anything: a
// server that says "delete" of a call once does not get away with "read" later.
type earlier struct {
	mu      sync.Mutex
	answers *lru.Cache[callstate.Binding, annotation.Annotations]
}

func newEarlier(size int) *earlier {
	answers, err := lru.New[callstate.Binding, annotation.Annotations](size)
	if err != nil { // only for a size below one
		panic("preflight: " + err.Error())
	}
	return &earlier{answers: answers}
}

// strictest returns the stricter of this answer and an earlier one to the same call,
// by the class that each gives it, and whether these differ.
func (e *earlier) strictest(call callstate.Binding, now annotation.Annotations, class func(annotation.Annotations) annotation.Safety) (_ annotation.Annotations, differs bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, ok := e.answers.Get(call)
	if ok && class(before) != class(now) {
		differs = true
		if class(before) < class(now) {
			return before, true
		}
	}
	e.answers.Add(call, now)
	return now, differs
}
