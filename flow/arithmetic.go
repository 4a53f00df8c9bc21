package flow

import (
	"math"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/flow/internal/reading"
)

// The numbers of one text that are computed with, and from how many on their results are everywhere.
const (
	maxTerms  = 24
	manyTerms = 8
	// minComputed is the least that is taken for a result: small numbers are the sum of others in most texts.
	minComputed = 10
)

// amounts reads the value as a number.
func (m *maker) amounts() {
	v, err := strconv.ParseFloat(strings.TrimSpace(m.raw), 64)
	if err != nil {
		if all := reading.New(m.raw).Numbers(); len(all) == 1 {
			v, err = all[0].Value, nil
		}
	}
	m.amount, m.number = math.Abs(v), err == nil && v != 0
}

// amountFrom returns the number of a text that is the value, in words or with other marks, or those whose sum, difference,
// product, quotient or percentage it is, or that is it in another unit.
func (m *maker) amountFrom(r *readings) (made, bool) {
	if !m.number {
		return made{}, false
	}
	list := r.numbers
	for _, n := range list {
		if m.gives(n.Value) {
			how := otherForm
			if n.Said {
				how = saidInWords
			}
			return m.computed(r, how, "", n), true
		}
	}
	if m.amount < minComputed && m.amount == math.Trunc(m.amount) {
		return made{}, false
	}
	weak := len(list) > manyTerms
	if weak && !m.shows { // no rule asks about it
		return made{}, false
	}
	list = list[:min(len(list), maxTerms)]
	sum, exact := 0.0, made{}
	for i, a := range list {
		for _, factor := range reading.Factors(a.Unit) {
			if m.gives(a.Value*factor) || m.gives(a.Value/factor) {
				got := m.computed(r, computed, "", a)
				got.of = m.parts("", r.raw[a.At:a.End]+" "+a.Unit) + ", in another unit"
				return got, true
			}
		}
		for _, b := range list[i+1:] {
			if op := m.pair(a, b); op != "" && exact.how == "" {
				exact = m.computed(r, computed, op, a, b)
			}
		}
		if sum += a.Value; i > 1 && m.gives(sum) {
			return m.computed(r, computed, " + ", list[:i+1]...), true
		}
		for j, rest := i+1, a.Value; j < len(list); j++ {
			if rest += list[j].Value; j > i+1 && m.gives(rest) {
				return m.computed(r, computed, " + ", list[i:j+1]...), true
			}
		}
	}
	exact.weak = weak
	return exact, exact.how != ""
}

// pair returns by what two numbers give the value, "" for nothing.
func (m *maker) pair(a, b reading.Number) string {
	switch x, y := a.Value, b.Value; {
	case m.gives(x + y):
		return " + "
	case m.gives(x * y):
		return " × "
	case m.gives(x - y), m.gives(y - x):
		return " - "
	case y != 0 && m.gives(x/y), x != 0 && m.gives(y/x):
		return " / "
	case m.gives(x * y / 100):
		return " % of "
	case m.gives(x*y/100 + x), m.gives(x*y/100 + y), m.gives(x - x*y/100), m.gives(y - x*y/100):
		return " and per cent "
	}
	return ""
}

// gives reports whether a number is the value, to the cent.
func (m *maker) gives(v float64) bool {
	return math.Abs(math.Abs(v)-m.amount) < 0.005+1e-9*m.amount
}

func (m *maker) computed(r *readings, how, op string, from ...reading.Number) made {
	parts := make([]string, len(from))
	for i, n := range from {
		parts[i] = r.raw[n.At:n.End]
	}
	return made{how: how, of: m.parts(op, parts...), first: parts[0]}
}
