package main

import (
	"fmt"
	"strings"
)

// draw returns the picture: for each policy what it cost the servers, what failed,
// and what went wrong without anybody being told.
func draw(tallies []tally) string {
	panels := []struct {
		title string
		value func(tally) int
	}{
		{"calls that reached a server", func(t tally) int { return t.server }},
		{"failed calls", func(t tally) int { return t.failed }},
		{"wrong in silence: duplicates, lost writes, own writes not seen, dangerous calls unasked", func(t tally) int {
			return t.duplicates + t.lost + t.ownStale + t.unasked
		}},
	}
	const width, left, line = 760, 190, 20
	var b strings.Builder
	height := 16 + len(panels)*(len(tallies)*line+36)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	y := 24
	for _, panel := range panels {
		most := 1
		for _, t := range tallies {
			most = max(most, panel.value(t))
		}
		fmt.Fprintf(&b, `<text x="8" y="%d" font-weight="bold">%s</text>`+"\n", y, panel.title)
		y += 8
		for i, t := range tallies {
			n := panel.value(t)
			fill := "#b8bcc4"
			if strings.HasPrefix(policies[i].name, "Fairlead") {
				fill = "#1f6feb"
			}
			bar := n * (width - left - 70) / most
			fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%d" height="%d" fill="%s"/><text x="%d" y="%d">%d</text>`+"\n",
				left-8, y+14, policies[i].name, left, y+3, bar, line-6, fill, left+bar+6, y+14, n)
			y += line
		}
		y += 28
	}
	b.WriteString("</svg>\n")
	return b.String()
}
