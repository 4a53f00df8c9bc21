package output

import "github.com/fairlead-go/fairlead/internal/trim"

// A Unit is what a limit counts.
type Unit uint8

// The units.
const (
	// Characters are Unicode's code points.
	Characters Unit = Unit(trim.Characters)
	// Bytes are those of UTF-8.
	Bytes Unit = Unit(trim.Bytes)
	// Tokens are an estimate that needs no model: four ASCII characters are a token,
	// and so is every other character.
	Tokens Unit = Unit(trim.Tokens)
)
