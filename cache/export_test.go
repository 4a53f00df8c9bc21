package cache

// Seen returns what notes that a question was asked, by its hash, and says whether it
// was asked of late.
func Seen() func(hash uint64) bool { return new(sightings).again }
