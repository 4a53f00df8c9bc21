package terminal

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
)

// help explains the keys that a request has.
func help(r hitl.Request) string {
	text := "  y approves this call once, n denies, i denies and takes a line for the model, e changes the arguments,\n  d shows all of them.\n"
	if len(r.Offers) > 0 {
		text += "  s and a, with the number of what is offered, remember the approval as above.\n"
	}
	if len(r.Free) > 0 {
		text += "  f and names, before that, leave those members free: \"f path\".\n"
	}
	return text
}

// keys lists what may be typed to remember an approval, "" for nothing.
func keys(r hitl.Request) string {
	var names []string
	for _, c := range keyed(r) {
		names = append(names, key(c))
	}
	if len(r.Free) > 0 && names != nil {
		names = append(names, "[f]ree")
	}
	if names == nil {
		return ""
	}
	return "  remember as above: " + strings.Join(names, ", ")
}

// keyed returns what may be remembered, for always with the shortest end alone: another is chosen afterwards.
func keyed(r hitl.Request) (choices []hitl.Choice) {
	for _, c := range r.Choices()[1:] {
		if !endNamed(c.Name) {
			choices = append(choices, c)
		}
	}
	return choices
}

// endNamed reports whether the name of a choice has its end.
func endNamed(name string) bool { return strings.Contains(name, "-always-") }

// key is what is typed for a choice: s or a, and the number of the offer after the first.
func key(c hitl.Choice) string {
	letter := c.Decision.Remember.String()[:1]
	if c.Decision.Offer > 0 {
		letter += strconv.Itoa(c.Decision.Offer + 1)
	}
	return letter
}

// agrees reports whether a word approves this call alone.
func agrees(word string) bool {
	return slices.Contains([]string{"y", "yes", "yes please", "yeah", "yep", "ok", "okay", "sure", "allow", "approve", "go ahead"}, word)
}

// refuses reports whether a word denies, as no word does.
func refuses(word string) bool {
	return slices.Contains([]string{"", "n", "no", "no thanks", "nope", "deny", "reject", "cancel", "stop"}, word)
}

// answers reads an approval, and the key or the name of a choice.
func answers(word string, request hitl.Request) (hitl.Decision, bool) {
	typed := strings.Join(strings.Fields(word), "")
	for i, c := range request.Choices() {
		if i == 0 && agrees(word) || i > 0 && (typed == key(c) || typed == c.Name) {
			return c.Decision, true
		}
	}
	return hitl.Decision{}, false
}
