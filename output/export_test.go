package output

// Weigh returns the weight of the JSON text's value, and of what is written for it.
func (u Unit) Weigh(raw string) (weight int, written string, err error) {
	v, err := decode([]byte(raw))
	if err != nil {
		return 0, "", err
	}
	return u.json(v, len(raw)*8), encode(v), nil
}

// Plain returns the weight of a text.
func (u Unit) Plain(s string) int { return u.plain(s, len(s)*8) }
