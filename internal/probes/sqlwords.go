package probes

// The words of SQL by what they do, from words.txt.
var (
	sqlHard      = sets["sqlHard"]
	sqlSoft      = sets["sqlSoft"]
	sqlShows     = sets["sqlShows"]
	sqlKeywords  = sets["sqlKeywords"]
	sqlExpects   = sets["sqlExpects"]
	sqlFollows   = sets["sqlFollows"]
	sqlFunctions = sets["sqlFunctions"]
	sqlValues    = sets["sqlValues"]
	sqlDeeds     = sets["sqlDeeds"]
	sqlColumns   = sets["sqlColumns"]
	sqlHints     = sets["sqlHints"]
	sqlOptions   = sets["sqlOptions"]
	sqlPragmas   = sets["sqlPragmas"]
	sqlSettings  = sets["sqlSettings"]
)
