package shell

import "slices"

// A handler judges what the table cannot say of a command: it returns why a call is more than a read, or "".
type handler func(r *reader, row *row, p parsed, s *scope) string

// A rawHandler reads the words behind a command by itself.
type rawHandler func(r *reader, row *row, words []word, s *scope) string

// handlerOf returns the handler that tables name behind do=, or nil.
func handlerOf(name string) handler {
	switch name {
	case "env":
		return envCommand
	case "shell":
		return shellCommand
	case "xargs":
		return xargsCommand
	case "awk":
		return awkCommand
	case "sed":
		return sedCommand
	case "jq":
		return jqCommand
	case "yq":
		return yqCommand
	case "fzf":
		return fzfCommand
	case "psql":
		return sqlCommand("-c", "--command")
	case "mysql":
		return sqlCommand("-e", "--execute")
	case "sqlcmd":
		return sqlCommand("-q", "-Q")
	case "sqlite":
		return sqliteCommand
	case "watch":
		return watchCommand
	case "read":
		return readCommand
	case "unset":
		return unsetCommand
	case "curl":
		return curlCommand
	case "wget":
		return fetchCommand
	case "git":
		return gitCommand
	case "gitlist":
		return gitList
	case "gitconfig":
		return gitConfig
	case "kubeget":
		return kubeGet
	case "ghapi":
		return ghAPI
	case "athena":
		return needsSQL("--query-string")
	case "sqlquery":
		return sqlQuery
	case "bq":
		return bqQuery
	case "heroku":
		return herokuCommand
	case "auth0api":
		return auth0API
	case "port":
		return firstIs("list", "info", "search", "installed", "outdated", "contents", "deps", "variants", "dependents", "provides", "version", "echo", "file", "location", "leaves", "active", "inactive", "help")
	case "uvrun":
		return uvRun
	case "dryrun":
		return dryRun
	case "symbols":
		return symbolsCommand
	case "fmt":
		return formatCommand
	case "scan":
		return scanCommand
	case "ansible":
		return ansibleCommand
	case "ip":
		return ipCommand
	case "nmcli":
		return nmcliCommand
	case "systemdctl":
		return systemdCommand
	case "sysctl":
		return sysctlCommand
	case "disks":
		return disksCommand
	case "networksetup":
		return networksetupCommand
	case "systemsetup":
		return systemsetupCommand
	case "xattr":
		return xattrCommand
	case "codesign":
		return codesignCommand
	case "spctl":
		return spctlCommand
	case "scutil":
		return scutilCommand
	case "dsutil":
		return dsutilCommand
	case "plistbuddy":
		return plistCommand
	case "codec":
		return codecCommand
	case "samples":
		return samplesCommand
	case "redis":
		return redisCommand
	case "mysqladmin":
		return mysqladminCommand
	case "ssm":
		return ssmCommand
	case "needs":
		return needsOption
	case "some":
		return someOperand
	case "atmost1":
		return atMost(1)
	case "atmost2":
		return atMost(2)
	}
	return nil
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

// atMost allows at most n operands.
func atMost(n int) handler {
	return func(_ *reader, _ *row, p parsed, _ *scope) string {
		if len(p.operands) > n || p.wild {
			return "more operands than it reads"
		}
		for _, w := range p.operands {
			if w.many {
				return "more operands than it reads"
			}
		}
		return ""
	}
}

// someOperand requires an operand: without one, the command acts.
func someOperand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 {
		return "no operand"
	}
	return ""
}

// needsOption requires one of the options that the table marks: without it, the command acts.
func needsOption(_ *reader, row *row, p parsed, _ *scope) string {
	for _, o := range p.options {
		if row.options[o.name].typed == "reads" || o.name == "--help" || o.name == "--version" {
			return ""
		}
	}
	return "none of the options that make it read"
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

// uvRun requires of uv run that it leaves the environment of the project as it is.
func uvRun(_ *reader, _ *row, p parsed, _ *scope) string {
	if !p.has("--no-sync") {
		return "no --no-sync, so that it installs what the project requires"
	}
	return ""
}
