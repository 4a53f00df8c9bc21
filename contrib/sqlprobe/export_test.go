package sqlprobe

// Unfit is tested by how far it lets the parsers go.
var Unfit = unfit

// ParsePostgreSQL parses without a bound.
func ParsePostgreSQL(text string) error {
	_, err := pgParse(text)
	return err
}
