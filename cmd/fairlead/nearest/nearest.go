// Package nearest finds the word that was meant by one that is mistyped.
package nearest

import "strings"

// Of returns the known word that is at most two letters from the one that was written, or else one that begins
// with the same three letters; "" if there is none. Case makes no difference.
func Of(word string, known []string) string {
	word = strings.ToLower(word)
	best, least, alike := "", 3, ""
	for _, k := range known {
		low := strings.ToLower(k)
		if d := distance(word, low); d < least && d < len(word) || d == least && k < best {
			best, least = k, d
		}
		if len(word) >= 3 && strings.HasPrefix(low, word[:3]) && (alike == "" || k < alike) {
			alike = k
		}
	}
	if best != "" {
		return best
	}
	return alike
}

// distance is how many letters have to be put in, left out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before := row[0]
		row[0] = i + 1
		for j := range b {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
