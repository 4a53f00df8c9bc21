package probes

// The words of SQL by what they do, from words.txt.
var (
	sqlHard      = setOf("sqlHard")
	sqlSoft      = setOf("sqlSoft")
	sqlShows     = setOf("sqlShows")
	sqlKeywords  = setOf("sqlKeywords")
	sqlExpects   = setOf("sqlExpects")
	sqlFollows   = setOf("sqlFollows")
	sqlFunctions = setOf("sqlFunctions")
	sqlValues    = setOf("sqlValues")
	sqlDeeds     = setOf("sqlDeeds")
	sqlColumns   = setOf("sqlColumns")
	sqlHints     = setOf("sqlHints")
	sqlOptions   = setOf("sqlOptions")
	sqlPragmas   = setOf("sqlPragmas")
	sqlSettings  = setOf("sqlSettings")
)

// setOf returns a list as a set.
func setOf(list string) map[string]bool {
	set := make(map[string]bool, len(lists[list]))
	for _, word := range lists[list] {
		set[word] = true
	}
	return set
}
