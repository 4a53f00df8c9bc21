package shell

import (
	"slices"
	"strings"
)

// A handler judges what the table cannot say of a command: it returns why a call is more than a read, or "".
type handler func(r *reader, row *row, p parsed, s *scope) string

// A rawHandler reads the words behind a command by itself.
type rawHandler func(r *reader, row *row, words []word, s *scope) string

// handlers returns the handlers by the names that tables have behind do=. It is a function, since handlers read the tables.
func handlers() map[string]handler {
	return map[string]handler{
		"env":        envCommand,
		"shell":      shellCommand,
		"xargs":      xargsCommand,
		"awk":        awkCommand,
		"sed":        sedCommand,
		"jq":         jqCommand,
		"yq":         yqCommand,
		"fzf":        fzfCommand,
		"psql":       sqlCommand("-c", "--command"),
		"mysql":      sqlCommand("-e", "--execute"),
		"sqlcmd":     sqlCommand("-q", "-Q"),
		"sqlite":     sqliteCommand,
		"watch":      watchCommand,
		"read":       readCommand,
		"mapfile":    mapfileCommand,
		"getopts":    getoptsCommand,
		"trap":       trapCommand,
		"rclone":     rcloneCommand,
		"unset":      unsetCommand,
		"curl":       curlCommand,
		"wget":       fetchCommand,
		"git":        gitCommand,
		"gitlist":    gitList,
		"gitconfig":  gitConfig,
		"kubeget":    kubeGet,
		"ghapi":      ghAPI,
		"sqlquery":   sqlQuery,
		"bq":         bqQuery,
		"heroku":     herokuCommand,
		"auth0api":   auth0API,
		"plainwords": plainWords,
		"port": portCommand(strings.Fields(`list info search installed outdated contents deps variants dependents
			provides version echo file location leaves active inactive help`)...),
		"uvrun":        uvRun,
		"gitconfigget": gitConfigGet,
		"compress":     compressCommand,
		"brew":         brewCommand,
		"dryrun":       dryRun,
		"symbols":      symbolsCommand,
		"fmt":          formatCommand,
		"scan":         scanCommand,
		"ip":           ipCommand,
		"nmcli":        nmcliCommand,
		"systemdctl":   systemdCommand,
		"sysctl":       sysctlCommand,
		"disks":        disksCommand,
		"networksetup": networksetupCommand,
		"systemsetup":  systemsetupCommand,
		"xattr":        xattrCommand,
		"codesign":     codesignCommand,
		"spctl":        spctlCommand,
		"scutil":       scutilCommand,
		"dsutil":       dsutilCommand,
		"plistbuddy":   plistCommand,
		"codec":        codecCommand,
		"samples":      samplesCommand,
		"redis":        redisCommand,
		"mysqladmin":   mysqladminCommand,
		"ssm":          ssmCommand,
		"needs":        needsOption,
		"some":         someOperand,
		"atmost1":      atMostOne,
	}
}

// rawHandlerOf returns the handler of a command whose options are a language of their own, or nil.
func rawHandlerOf(name string) rawHandler {
	switch name {
	case "find":
		return findCommand
	case "fd", "fdfind":
		return fdCommand
	case "test", "[":
		return testCommand
	case "echo":
		return echoCommand
	case "script":
		return scriptCommand
	case "kubectl exec", "oc exec":
		return kubeExec
	case "printf":
		return printfCommand
	case "dscl":
		return dsclCommand
	case "set":
		return setCommand
	case "tar", "bsdtar":
		return tarCommand
	case "command", "builtin":
		return commandCommand
	}
	return nil
}

// atMostOne allows one operand, and no more.
func atMostOne(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) > 1 || p.wild || slices.ContainsFunc(p.operands, func(w word) bool { return w.many }) {
		return "more operands than it reads"
	}
	return ""
}

// someOperand requires an operand: without one, the command acts.
func someOperand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 {
		return "no operand"
	}
	return ""
}

// needsOption requires one of the options that the table marks, or a statement: without it, the command acts.
func needsOption(_ *reader, row *row, p parsed, _ *scope) string {
	for _, o := range p.options {
		if typed := row.options[o.name].typed; typed == "reads" || typed == "sql" || o.name == "--help" || o.name == "--version" {
			return ""
		}
	}
	return "none of the options that make it read"
}

// compressCommand requires of a compressor that it prints, tests or lists. The last of -t, -l and -d counts, as xz(1)
// has it: -dt tests, and -td writes unless -c has it print.
func compressCommand(r *reader, row *row, p parsed, s *scope) string {
	if why := needsOption(r, row, p, s); why != "" {
		return why
	}
	writes := false
	for _, o := range p.options {
		switch o.name {
		case "-d", "--decompress", "--uncompress":
			writes = true
		case "-t", "--test", "-l", "--list":
			writes = false
		}
	}
	if writes && !p.has("-c", "--stdout", "--to-stdout") {
		return "-d, which writes a file"
	}
	return ""
}

// firstIs requires that the first operand is one of some words.
func firstIs(names ...string) handler {
	return func(_ *reader, _ *row, p parsed, _ *scope) string {
		if len(p.operands) > 0 && p.operands[0].known() && slices.Contains(names, p.operands[0].text) {
			return ""
		}
		return "no subcommand that is known to read"
	}
}

// plainWords requires that no word holds a ; in a program that reads one as the end of a command.
func plainWords(_ *reader, _ *row, p parsed, _ *scope) string {
	words := slices.Clone(p.operands)
	for _, o := range p.options {
		words = append(words, o.value)
	}
	for _, w := range words {
		if !w.known() || w.many || strings.ContainsAny(w.text, ";\n") {
			return "the word " + shown(w) + ", behind which may be another command"
		}
	}
	return ""
}

// portCommand judges port(1), which reads several commands with a ; between them.
func portCommand(names ...string) handler {
	first := firstIs(names...)
	return func(r *reader, row *row, p parsed, s *scope) string {
		if why := plainWords(r, row, p, s); why != "" {
			return why
		}
		return first(r, row, p, s)
	}
}

// uvRun requires of uv run that it leaves the environment of the project as it is.
func uvRun(_ *reader, _ *row, p parsed, _ *scope) string {
	if !p.has("--no-sync") {
		return "no --no-sync, so that it installs what the project requires"
	}
	return ""
}
