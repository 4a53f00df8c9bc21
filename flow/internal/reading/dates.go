package reading

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Date stands in a text. A text that leaves the year, the order of day and month, or the week open has one for each.
type Date struct {
	Day     string // as in 2006-01-02
	At, End int
}

// maxDates is how many dates of a text are read.
const maxDates = 128

// A calendar reads the dates of a text.
type calendar struct {
	list  []token
	today time.Time
	all   []Date
}

// Dates returns those of the text if it was written today.
func (t Text) Dates(today time.Time) []Date {
	c := calendar{list: t.tokens, today: today}
	for i := range c.list {
		if len(c.all) >= maxDates {
			break
		}
		c.numeric(i)
		c.month(i)
		c.relative(i)
		c.feast(i)
	}
	return c.all
}

func (c *calendar) add(y, m, d, from, to int) {
	day := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if m < 1 || m > 12 || d < 1 || day.Day() != d {
		return
	}
	c.all = append(c.all, Date{day.Format(time.DateOnly), c.list[from].at, c.list[to].end})
}

// offset adds the day that is so many days from today.
func (c *calendar) offset(days, from, to int) {
	day := c.today.AddDate(0, 0, days)
	c.add(day.Year(), int(day.Month()), day.Day(), from, to)
}

func (c *calendar) word(i int) string {
	if i < 0 || i >= len(c.list) {
		return ""
	}
	return c.list[i].text
}

// number returns the number that a token is, -1 for another token.
func (c *calendar) number(i int) int {
	if i < 0 || i >= len(c.list) || c.list[i].sort != '0' || len(c.list[i].text) > 4 {
		return -1
	}
	n, err := strconv.Atoi(c.list[i].text)
	if err != nil {
		return -1
	}
	return n
}

// year returns a year with its century.
func (c *calendar) year(i int) int {
	n := c.number(i)
	switch {
	case n >= 0 && len(c.list[i].text) == 2:
		return 2000 + n
	case n >= 0 && len(c.list[i].text) == 4:
		return n
	}
	return -1
}

// numeric reads 2006-01-02, 02.01.2006 and 01/02/06.
func (c *calendar) numeric(i int) {
	mark := c.word(i + 1)
	if c.number(i) < 0 || mark == "" || !strings.ContainsAny(mark, "-./") || c.word(i+3) != mark {
		return
	}
	a, b := c.number(i), c.number(i+2)
	if d := c.leading(i + 4); len(c.list[i].text) == 4 && d > 0 {
		c.add(a, b, d, i, i+4)
	} else if y := c.year(i + 4); y >= 0 {
		c.add(y, b, a, i, i+4)
		c.add(y, a, b, i, i+4)
	}
}

// leading returns a day, also before the T of a time.
func (c *calendar) leading(i int) int { return c.number(i) }

// month reads a date with the name of a month, in any order, with or without a year.
func (c *calendar) month(i int) {
	m, ok := words().number("month", c.word(i))
	if !ok {
		return
	}
	if day, from := c.dayBefore(i - 1); day > 0 {
		c.inYear(m, day, from, i, i+1)
	}
	if day, to := c.dayBehind(i + 1); day > 0 {
		c.inYear(m, day, i, to, to+1)
	}
}

// inYear adds a day of the year that follows, or else of the years around today.
func (c *calendar) inYear(m, d, from, to, next int) {
	for c.word(next) == "," || c.word(next) == "de" || c.word(next) == "." {
		next++
	}
	if y := c.year(next); y >= 1900 && len(c.list[next].text) == 4 {
		c.add(y, m, d, from, next)
		return
	}
	for y := c.today.Year(); y <= c.today.Year()+1; y++ {
		c.add(y, m, d, from, to)
	}
}

func (c *calendar) dayBefore(i int) (day, from int) {
	for i >= 0 && slices.Contains([]string{"of", "de", ".", "th", "rd", "nd", "st"}, c.word(i)) {
		i--
	}
	if n := c.number(i); n > 0 {
		return n, i
	}
	return c.ordinal(i)
}

func (c *calendar) dayBehind(i int) (day, to int) {
	if c.word(i) == "the" {
		i++
	}
	if n := c.number(i); n > 0 && n < 32 && len(c.list[i].text) < 3 {
		if slices.Contains([]string{"th", "rd", "nd", "st"}, c.word(i+1)) {
			i++
		}
		return n, i
	}
	if n, ok := words().number("ordinal", c.word(i)); ok {
		return n, i
	}
	for j := i; j < i+3; j++ {
		if n, from := c.ordinal(j); n > 20 && from == i {
			return n, j
		}
	}
	return 0, i
}

// ordinal returns the day that words before a place count, such as "twenty-first".
func (c *calendar) ordinal(i int) (day, from int) {
	n, ok := words().number("ordinal", c.word(i))
	if !ok {
		return 0, i
	}
	before := i - 1
	if c.word(before) == "-" {
		before--
	}
	if tens, ok := words().number("number", c.word(before)); ok && n < 10 && (tens == 20 || tens == 30) {
		return tens + n, before
	}
	return n, i
}

// relative reads a day that is said from today on.
func (c *calendar) relative(i int) {
	w, word := words(), c.word(i)
	if days, ok := w.number("days", word); ok {
		c.offset(days, i, i)
		if days == 1 && c.word(i-1) == "after" && c.word(i-2) == "day" {
			c.offset(2, max(0, i-3), i)
		}
	}
	if day, ok := w.number("weekday", word); ok {
		ahead := (day-int(c.today.Weekday())+6)%7 + 1
		c.offset(ahead, i, i)
		if slices.Contains([]string{"next", "nächsten", "week"}, c.word(i-1)) || c.word(i+1) == "week" {
			c.offset(ahead+7, max(0, i-1), i)
		}
	}
	if days, ok := w.number("span", word); ok {
		c.span(i, days)
	}
	if word == "weekend" {
		c.offset((6-int(c.today.Weekday())+7)%7, i, i)
		c.offset((7-int(c.today.Weekday()))%7, i, i)
	}
	if c.word(i) == "end" && c.word(i+1) == "of" {
		first := time.Date(c.today.Year(), c.today.Month()+1, 0, 0, 0, 0, 0, time.UTC)
		if strings.HasPrefix(c.word(i+2)+c.word(i+3), "themonth") || c.word(i+3) == "month" {
			c.add(first.Year(), int(first.Month()), first.Day(), i, min(len(c.list)-1, i+3))
			c.add(first.Year(), int(first.Month()), first.Day()-1, i, min(len(c.list)-1, i+3))
		}
	}
}

// span reads "in two weeks", "a week from today" and "next month".
func (c *calendar) span(i, days int) {
	from := i - 1
	var count int
	switch before := c.word(from); before {
	case "a", "an", "one", "next", "nächste", "nächsten", "einem", "einer":
		count = 1
	default:
		count = c.number(from)
		if n, next := wordsAt(c.list, max(0, from)); count < 0 && from >= 0 && next == i {
			count = int(n.Value)
		}
	}
	if count < 1 || count > 1000 {
		return
	}
	if slices.Contains([]string{"last", "past", "letzten", "vergangenen"}, c.word(from-1)) || c.word(i+1) == "ago" {
		count = -count
	}
	switch days {
	case 30:
		day := c.today.AddDate(0, count, 0)
		c.add(day.Year(), int(day.Month()), day.Day(), from, i)
		if c.word(from) == "next" {
			c.add(day.Year(), int(day.Month()), 1, from, i)
		}
	case 365:
		day := c.today.AddDate(count, 0, 0)
		c.add(day.Year(), int(day.Month()), day.Day(), from, i)
	default:
		c.offset(count*days, from, i)
	}
}

// feast reads the name of a day.
func (c *calendar) feast(i int) {
	if !slices.Contains([]string{"christmas", "boxing", "new", "halloween", "valentine"}, c.word(i)) {
		return
	}
	for n := 5; n >= 1; n-- {
		if i+n > len(c.list) {
			continue
		}
		name := make([]string, 0, n)
		for _, t := range c.list[i : i+n] {
			name = append(name, t.text)
		}
		if day, ok := words().first("feast", strings.Join(name, "-")); ok {
			m, d, _ := strings.Cut(day, "-")
			month, _ := strconv.Atoi(m)
			of, _ := strconv.Atoi(d)
			for y := c.today.Year(); y <= c.today.Year()+1; y++ {
				c.add(y, month, of, i, i+n-1)
			}
			return
		}
	}
}
