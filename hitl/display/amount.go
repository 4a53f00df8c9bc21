package display

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

// The members that have what is paid, and in which currency.
var (
	sums       = []string{"amount", "total", "price", "value"}
	currencies = []string{"currency", "currency_code", "currencyCode"}
)

// pay is the sentence of money that moves.
func pay(c *call) string {
	if c.verb == "" || concerns[c.verb] != moves && concern(c.tool) != moves {
		return ""
	}
	at := slices.IndexFunc(sums, func(name string) bool { return c.one(name) != "" })
	if at < 0 {
		return ""
	}
	text := c.verbNoun() + ": "
	before := " "
	if amount := c.one(sums[at]); inUnits(amount) {
		text += amount + " " + c.currency()
	} else {
		text += safetext.Word(sums[at], maxWord) + " " + amount + c.beside()
		before = ", "
	}
	if to := c.all(before+"to ", "to", "recipient", "payee", "iban", "account", "destination", "to_account", "customer", "charge"); to != "" {
		return text + to
	}
	if about := c.with(slices.Concat(sums, currencies)...); about != "" {
		text += "; " + about
	}
	return text
}

// inUnits reports whether a number is surely one of whole units of a currency: one with a fraction. Any other may be in
// cents, as some servers want it, so that "500 USD" would state more than is known.
func inUnits(amount string) bool {
	return strings.Count(amount, ".") == 1 && !strings.ContainsFunc(amount, func(r rune) bool { return r != '.' && !unicode.IsDigit(r) })
}

// currency returns the currency that the arguments name.
func (c *call) currency() string {
	if currency := c.one(currencies...); currency != "" {
		return currency
	}
	return "(no currency is given)"
}

// beside returns the currency as another argument beside a number.
func (c *call) beside() string {
	if currency := c.one(currencies...); currency != "" {
		return ", currency " + currency
	}
	return " " + c.currency()
}

// amounts returns the numbers of money that are not in the sentence, with their currency, and what the server states of
// their unit.
func (c *call) amounts() (all []Effect) {
	if c.one(currencies...) == "" && concern(c.tool) != moves {
		return nil
	}
	shown := false // the first one of these is in the sentence of a payment
	for _, m := range c.members {
		words := wordsOf(m.Name)
		if !slices.ContainsFunc(words, func(w string) bool { return money[w] }) || slices.Contains(currencies, m.Name) {
			continue
		}
		value, n := phrase(m.Value)
		if n != 1 || strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || r == '"' }) {
			continue
		}
		name := safetext.Word(m.Name, maxWord)
		switch inSentence := slices.Contains(sums, m.Name) && !shown && pay(c) != ""; {
		case inSentence:
			shown = true
		case inUnits(value):
			all = append(all, Effect{Text: fmt.Sprintf("%s: %s %s", name, value, c.currency())})
		default:
			all = append(all, Effect{Text: fmt.Sprintf("%s: %s%s", name, value, c.beside())})
		}
		if its := c.stated(m.Name); smallUnits.MatchString(its) {
			all = append(all, Effect{Text: fmt.Sprintf("Of %s the server states: %s", name, safetext.Quote(its, maxText))})
		}
	}
	return all
}

var money = map[string]bool{
	"amount": true, "total": true, "price": true, "fee": true, "tip": true, "tax": true, "cost": true, "subtotal": true, "deposit": true, "budget": true,
}

// smallUnits is how descriptions name the unit of an amount that is not the currency itself.
var smallUnits = lazyregexp.New(`(?i)\b(?:cents?|pence|(?:smallest|minor)(?: currency)? units?|satoshis?|sats|wei)\b`)

// stated returns the server's description of a parameter, "" for none.
func (c *call) stated(parameter string) string {
	raw, err := json.Marshal(c.tool.Definition.InputSchema)
	if err != nil {
		return ""
	}
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	if json.Unmarshal(raw, &schema) != nil {
		return ""
	}
	return schema.Properties[parameter].Description
}
