package shell

import (
	"slices"
	"strings"
)

// networksetupCommand judges networksetup(8), whose options are its commands: those that get, list, show or are a test.
func networksetupCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.options) == 0 {
		return "no command"
	}
	name := strings.ToLower(strings.TrimPrefix(p.options[0].name, "-"))
	if len(p.options) > 1 {
		return "a second command"
	}
	for _, begin := range []string{"get", "list", "show", "is", "help", "printcommands", "version", "validate"} {
		if strings.HasPrefix(name, begin) {
			return ""
		}
	}
	return "the command " + p.options[0].name
}

// systemsetupCommand judges systemsetup(8): commands that get or list.
func systemsetupCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.options) != 1 {
		return "no command that is known to read"
	}
	name := strings.ToLower(strings.TrimPrefix(p.options[0].name, "-"))
	if strings.HasPrefix(name, "get") || strings.HasPrefix(name, "list") || name == "help" || name == "printcommands" || name == "version" {
		return ""
	}
	return "the command " + p.options[0].name
}

// xattrCommand judges xattr(1): with -w, -d or -c, which are not in its row, it writes; -p needs a name.
func xattrCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 && !p.has("-h", "--help") {
		return "no file"
	}
	return ""
}

// codesignCommand requires of codesign(1) that it displays or verifies.
func codesignCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, o := range p.options {
		switch name := strings.TrimRight(o.name, "v"); {
		case name == "-d", name == "-", name == "-vd", name == "-vvd", o.name == "--display", o.name == "--verify", o.name == "-h", o.name == "--hosting", o.name == "--validate-constraint":
			return ""
		}
	}
	return "neither -d nor -v"
}

// symbolsCommand requires of symbols(1) what to look at.
func symbolsCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 && !p.has("-help") {
		return "no operand"
	}
	return ""
}

// spctlCommand requires of spctl(8) that it assesses or lists.
func spctlCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if p.has("-a", "--assess", "--status", "--list", "-av", "-avv", "--disable-status", "--test-devid-status") {
		return ""
	}
	return "no assessment"
}

// scutilCommand judges scutil(8), which without an option reads commands from its input.
func scutilCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, o := range p.options {
		switch o.name {
		case "--dns", "--proxy", "--nwi", "-r", "--get", "--error":
			return ""
		case "--nc":
			if o.value.is("list") || o.value.is("status") || o.value.is("show") || o.value.is("statistics") || o.value.is("help") {
				return ""
			}
			return "the command " + shown(o.value)
		}
	}
	return "no option that reads"
}

// dsclReads are the commands of dscl(1) that read, with or without a dash.
var dsclReads = []string{"read", "readall", "readpl", "readpli", "list", "search", "diff", "cat", "ls"}

// dsclCommand reads a data source and a command, since the command may begin with a dash.
func dsclCommand(_ *reader, _ *row, words []word, _ *scope) string {
	var plain []string
	for _, w := range words {
		if !w.known() {
			return "the word " + shown(w)
		}
		plain = append(plain, w.text)
	}
	for len(plain) > 0 && slices.Contains([]string{"-q", "-raw", "-plist", "-url"}, plain[0]) {
		plain = plain[1:]
	}
	if len(plain) < 2 || strings.HasPrefix(plain[0], "-") {
		return "no command"
	}
	if !slices.Contains(dsclReads, strings.ToLower(strings.TrimPrefix(plain[1], "-"))) {
		return "the command " + plain[1]
	}
	return ""
}

// dsutilCommand judges the tools of Directory Service.
func dsutilCommand(_ *reader, row *row, p parsed, _ *scope) string {
	switch row.name {
	case "dseditgroup":
		if o, ok := p.value("-o"); ok && !o.is("read") && !o.is("checkmember") {
			return "the operation " + shown(o)
		}
		return ""
	case "odutil":
		if len(p.operands) > 0 && !p.operands[0].is("show") {
			return "the command " + shown(p.operands[0])
		}
	case "dsmemberutil":
		if len(p.operands) > 0 && (p.operands[0].is("flushcache") || p.operands[0].is("statistics") && len(p.operands) > 1) {
			return "the command " + shown(p.operands[0])
		}
	}
	return ""
}

// plistCommand judges PlistBuddy(8): only Print is known to read.
func plistCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	found := false
	for _, o := range p.options {
		if o.name != "-c" {
			continue
		}
		found = true
		command := strings.ToLower(strings.TrimSpace(o.value.text))
		if !o.value.known() || strings.Contains(command, ";") || command != "print" && !strings.HasPrefix(command, "print ") && command != "help" {
			return "the command " + shown(o.value)
		}
	}
	if !found && !p.has("-h") {
		return "no command"
	}
	return ""
}

// codecCommand judges a program that reads its input and writes its output, unless -i and -o name files.
func codecCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if p.has("-encode", "-decode", "-h") {
		return ""
	}
	return "no operation"
}

// samplesCommand judges the tools that look at a process.
func samplesCommand(_ *reader, row *row, p parsed, _ *scope) string {
	if row.name == "leaks" || row.name == "heap" || row.name == "vmmap" {
		for _, w := range p.operands {
			if !w.known() {
				return "the word " + shown(w)
			}
		}
	}
	return ""
}

// redisReads are the commands of Redis that read. Source: redis.io/docs/latest/commands, those with the flag readonly, and
// INFO, PING and the like.
var redisReads = strings.Fields(`bitcount bitfield_ro bitpos dbsize dump echo exists expiretime geodist geohash geopos georadius_ro geosearch get getbit getrange hexists hget hgetall hkeys hlen hmget
	hrandfield hscan hstrlen hvals info keys lastsave lcs lindex llen lolwut lpos lrange mget pexpiretime pfcount ping pttl randomkey scan scard sdiff sinter sintercard sismember smembers smismember
	sort_ro srandmember sscan strlen substr sunion time ttl type xinfo xlen xpending xrange xread xrevrange zcard zcount zdiff zinter zintercard zlexcount zmscore zrandmember zrange zrangebylex
	zrangebyscore zrank zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion ft.search ft.info ft._list json.get json.mget json.type ts.range ts.get ts.info`)

// redisCommand judges redis-cli by the command of Redis.
func redisCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 {
		if p.has("--scan", "--bigkeys", "--memkeys", "--stat", "--latency", "--latency-history", "--version", "--help") {
			return ""
		}
		return "no command"
	}
	first := p.operands[0]
	name := strings.ToLower(first.text)
	second := ""
	if len(p.operands) > 1 && p.operands[1].known() {
		second = strings.ToLower(p.operands[1].text)
	}
	switch {
	case !first.known():
		return "a command that is not known"
	case slices.Contains(redisReads, name):
		return ""
	case name == "client" && (second == "list" || second == "info" || second == "id"),
		name == "memory" && (second == "usage" || second == "stats" || second == "doctor"),
		name == "object" && (second == "encoding" || second == "freq" || second == "idletime" || second == "refcount"),
		name == "slowlog" && (second == "get" || second == "len"), name == "cluster" && (second == "info" || second == "nodes" || second == "slots" || second == "shards"),
		name == "command" || name == "latency" && (second == "latest" || second == "doctor"), name == "acl" && (second == "whoami" || second == "cat"):
		return ""
	}
	return "the command " + shown(first)
}

// mysqladminCommand judges mysqladmin: its operands are commands.
func mysqladminCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, w := range p.operands {
		if !slices.Contains([]string{"status", "extended-status", "ping", "processlist", "variables", "version"}, w.text) {
			return "the command " + shown(w)
		}
	}
	return ""
}
