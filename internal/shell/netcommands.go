package shell

import (
	"slices"
	"strings"
)

// ipObjects are the objects of ip(8) and its like, in full; each may be abbreviated.
var ipObjects = strings.Fields(`address addr link route rule neighbour neighbor neigh tunnel maddress maddr mroute mrule monitor netns xfrm addrlabel ntable ntbl netconf tcp_metrics token macsec
	vrf nexthop mptcp ioam sr fou l2tp qdisc class filter chain action vlan fdb mdb vni mst dev port sb region health trap stats ila tuntap help`)

// ipReads are the commands that only show. Not every program and object takes s for show and l for list: of some they are
// set and link, as in ip link s.
var ipReads = strings.Fields("show sho sh list lst get help identify pids ls")

// ipShort are the objects of ip for which one letter is enough to show.
var ipShort = strings.Fields("address addr route rule neighbour neighbor neigh")

// ipCommand judges ip, bridge and tc: an object, and then a command that shows, which may be left out.
func ipCommand(_ *reader, row *row, p parsed, _ *scope) string {
	words := p.operands
	for _, w := range words {
		if !w.known() {
			return "the word " + shown(w)
		}
	}
	if len(words) == 0 {
		return ""
	}
	object := ""
	for _, o := range ipObjects {
		if strings.HasPrefix(o, words[0].text) {
			object = o
			break
		}
	}
	switch {
	case object == "":
		return "the object " + shown(words[0])
	case object == "xfrm": // its state and its monitor print keys
		if len(words) < 2 || !words[1].is("policy") {
			return "the object " + shown(words[0])
		}
		words = words[1:]
	case object == "monitor" || object == "help":
		if slices.ContainsFunc(words, func(w word) bool { return strings.HasPrefix(w.text, "file") }) {
			return "a file"
		}
		return ""
	}
	if len(words) == 1 {
		return ""
	}
	verb := words[1].text
	short := row.name == "ip" && slices.Contains(ipShort, object) && (verb == "s" || verb == "l")
	if short || slices.Contains(ipReads, verb) {
		for _, w := range words[2:] {
			if w.text == "exec" || w.text == "flush" {
				return shown(w)
			}
		}
		return ""
	}
	if object == "netns" && verb == "monitor" {
		return ""
	}
	return "the command " + shown(words[1])
}

// nmcliCommand judges nmcli by its object and command, as nmcli(1) has them.
func nmcliCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	words := make([]string, len(p.operands))
	for i, w := range p.operands {
		if !w.known() {
			return "the word " + shown(w)
		}
		words[i] = w.text
	}
	switch {
	case len(words) == 0:
		return ""
	case abbreviates(words[0], "general") && (len(words) == 1 || words[1] == "status" || len(words) == 2 && words[1] == "hostname" || words[1] == "permissions"):
		return ""
	case (abbreviates(words[0], "connection") || abbreviates(words[0], "device")) && (len(words) == 1 || words[1] == "show" || words[1] == "status"):
		return ""
	case abbreviates(words[0], "device") && len(words) > 2 && words[1] == "wifi" && words[2] == "list":
		return ""
	case words[0] == "networking" && (len(words) == 1 || words[1] == "connectivity") || words[0] == "radio" && len(words) == 1 || words[0] == "monitor":
		return ""
	}
	return "what may change the network"
}

// systemdReads are the commands that read, of the programs of systemd. Sources: their manual pages.
var systemdReads = strings.Fields(`status show list-sessions list-users list-seats session-status show-session user-status show-user seat-status show-seat list-timezones timesync-status show-timesync list-locales list-keymaps list-x11-keymap-models
	list-x11-keymap-layouts list-x11-keymap-variants list-x11-keymap-options list lldp list-images image-status show-image list-transfers tree introspect get-property blame critical-chain time dot unit-paths unit-files exit-status capability condition
	syscall-filter calendar timestamp timespan security inspect-elf malloc fdstore verify info user group users-in-group groups-of-user services is-installed dump filesystems image-policy compare-versions`)

func systemdCommand(_ *reader, row *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 || p.has("--help", "--version", "-h") {
		return ""
	}
	if first := p.operands[0]; !first.known() || !slices.Contains(systemdReads, first.text) {
		return "the command " + shown(first)
	}
	if row.name == "coredumpctl" && p.operands[0].is("dump") {
		return "the memory of a program"
	}
	return ""
}

// sysctlCommand judges sysctl: name=value writes, as does name:value on a BSD; name value does not.
func sysctlCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, w := range p.operands {
		if !w.known() || strings.ContainsAny(w.text, "=:") {
			return "what it may set: " + shown(w)
		}
	}
	return ""
}

// disksReads are the first operands of the tools for disks that read.
var disksReads = strings.Fields("list status get history iostat version info deps table ls id-ctrl id-ns smart-log error-log list-ns list-subsys")

// disksCommand judges tools for disks by their subcommand.
func disksCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) > 0 && p.operands[0].known() && slices.Contains(disksReads, p.operands[0].text) {
		return ""
	}
	return "nothing that is known to read"
}
