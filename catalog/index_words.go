package catalog

import (
	"strings"
)

// idle are the words of a question that say nothing about what is asked for: the
// function words of English.
var idle = setOf(`
	a an the this that these those some any all each every no not
	i me my mine we us our ours you your yours he she it its him his her they them their one ones
	and or but if so than then as of to in on for with by from at into onto about per via
	is are was were be been being am do does did have has had having
	can could will would shall should may might must let lets please want need like
	what which who whom whose when where why how there here much many s t m re ve ll d
	now right just also`)

func setOf(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
