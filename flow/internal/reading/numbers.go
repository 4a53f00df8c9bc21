package reading

import (
	"strconv"
	"strings"
)

// A Number stands in a text, in digits or in words.
type Number struct {
	Value   float64
	Said    bool   // in words
	Unit    string // the word behind it
	At, End int
}

// MaxNumbers is how many numbers of a text are read.
const MaxNumbers = 64

// Numbers returns those of the text.
func (t Text) Numbers() (all []Number) {
	list := t.tokens
	for i := 0; i < len(list) && len(all) < MaxNumbers; {
		n, next := digitsAt(t.Raw, list, i)
		if next == i {
			n, next = wordsAt(list, i)
		}
		if next == i {
			i++
			continue
		}
		if next < len(list) && list[next].sort != '0' {
			n.Unit = list[next].text
			if n.Unit == "." || n.Unit == "," {
				n.Unit = ""
			}
		}
		all = append(all, n)
		i = next
	}
	return all
}

// digitsAt reads a number in digits, with marks for its thousands and its decimals in either way.
func digitsAt(raw string, list []token, i int) (n Number, next int) {
	if list[i].sort != '0' {
		return n, i
	}
	next = i + 1
	for next+1 < len(list) && list[next].sort == '.' && strings.ContainsAny(list[next].text, ".,'") && list[next+1].sort == '0' &&
		list[next].at == list[next-1].end && list[next+1].at == list[next].end {
		next += 2
	}
	n.At, n.End = list[i].at, list[next-1].end
	value, err := strconv.ParseFloat(plain(raw[n.At:n.End]), 64)
	if err != nil {
		return n, i
	}
	n.Value = value
	return n, next
}

// plain returns digits without the marks of thousands, and with a point before the decimals.
func plain(s string) string {
	s = strings.ReplaceAll(s, "'", "")
	last := strings.LastIndexAny(s, ".,")
	if last < 0 {
		return s
	}
	mark := s[last : last+1]
	thousands := strings.Count(s, mark) > 1 || mark == "," && len(s)-last == 4
	whole := strings.NewReplacer(".", "", ",", "").Replace(s[:last])
	if thousands {
		return whole + s[last+1:]
	}
	return whole + "." + s[last+1:]
}

// wordsAt reads a number in words, such as "twelve thousand three hundred and five".
func wordsAt(list []token, i int) (n Number, next int) {
	w := words()
	total, part, said := 0, 0, false
	next = i
	for j := i; j < len(list); j++ {
		t := list[j]
		digit, isDigit := w.number("digit", t.text)
		number, isNumber := w.number("number", t.text)
		times, isTimes := w.number("times", t.text)
		switch {
		case isDigit && part%10 == 0 && part%100 != 10:
			part += digit
		case isNumber && part%100 == 0:
			part += number
		case isTimes && said && times == 100 && part < 100:
			part *= times
		case isTimes && times > 100 && said && part > 0:
			total, part = total+part*times, 0
		case said && (t.text == "and" || t.text == "-" || t.text == "und"):
			continue
		default:
			if !said {
				return n, i
			}
			return Number{Value: float64(total + part), Said: true, At: list[i].at, End: list[next-1].end}, next
		}
		said, next = true, j+1
	}
	if !said {
		return n, i
	}
	return Number{Value: float64(total + part), Said: true, At: list[i].at, End: list[next-1].end}, next
}

// Factors returns by what a number of a unit is multiplied in others.
func Factors(unit string) (all []float64) {
	for _, factor := range words()["unit"][unit] {
		if f, err := strconv.ParseFloat(factor, 64); err == nil {
			all = append(all, f)
		}
	}
	return all
}
