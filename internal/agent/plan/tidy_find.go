package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/agent/folder"
)

// keepMark is what a file says that is not to be deleted.
const keepMark = "do not delete"

// findings is what the rules know of a folder.
type findings struct {
	files  files
	kept   map[string]bool   // has the keepMark
	groups [][]string        // equal files, the one that stays first
	stale  map[string]string // backup → original that has all of it
	unsure map[string]string // backup → why it is left
}

// A note is something that is left, with the reason.
type note struct{ path, why string }

// A backup is a file that is named as the backup of another.
type backup struct{ path, original string }

// sameSize returns the files that may be equal to another: those that are not
// alone with their size.
func (f *findings) sameSize() []string {
	bySize := map[int64]int{}
	for _, e := range f.files {
		if !e.Folder && e.Size > 0 {
			bySize[e.Size]++
		}
	}
	var same []string
	for _, e := range f.files {
		if !e.Folder && bySize[e.Size] > 1 {
			same = append(same, e.Path)
		}
	}
	return same
}

func (f *findings) keep(m folder.Matches) {
	f.kept = map[string]bool{}
	for _, match := range m.Matches {
		f.kept[match.Path] = true
	}
}

// equal groups equal files. The one that stays has the plainest name.
func (f *findings) equal(h folder.Hashes) {
	byHash := map[string][]string{}
	for _, one := range h.Hashes {
		byHash[one.SHA256] = append(byHash[one.SHA256], one.Path)
	}
	for _, group := range byHash {
		if len(group) < 2 {
			continue
		}
		slices.SortFunc(group, func(a, b string) int {
			return cmp.Or(cmp.Compare(copyness(a), copyness(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		})
		f.groups = append(f.groups, group)
	}
	slices.SortFunc(f.groups, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
}

// copyness is how much a name looks like that of a copy.
func copyness(name string) int {
	low := strings.ToLower(path.Base(name))
	n := strings.Count(name, "/")
	for _, mark := range []string{"copy", "(1)", "(2)", "(3)", "~", ".bak", ".old", ".orig"} {
		if strings.Contains(low, mark) {
			n += 10
		}
	}
	return n
}

// backups returns the files named as backups whose originals are there.
func (f *findings) backups() []backup {
	var all []backup
	for _, e := range f.files {
		original, ok := backupOf(e.Path)
		if !ok || e.Folder || e.Size == 0 || f.copies(e.Path) || !f.files.has(original) {
			continue
		}
		all = append(all, backup{e.Path, original})
	}
	return all
}

func backupOf(name string) (original string, ok bool) {
	for _, suffix := range []string{"~", ".bak", ".old", ".orig"} {
		if original, ok := strings.CutSuffix(name, suffix); ok && path.Base(original) != "" {
			return original, true
		}
	}
	return "", false
}

// copies reports whether the file is a copy that goes as one of equal files.
func (f *findings) copies(name string) bool {
	return slices.ContainsFunc(f.groups, func(g []string) bool { return slices.Contains(g[1:], name) })
}

// superseded notes whether every line of a backup is still in its original.
func (f *findings) superseded(b, original folder.Text, readable bool) {
	if f.stale == nil {
		f.stale, f.unsure = map[string]string{}, map[string]string{}
	}
	if !readable {
		if b.Path != "" {
			f.unsure[b.Path] = "it could not be compared with its original"
		}
		return
	}
	have := map[string]bool{}
	for line := range strings.Lines(original.Text) {
		have[strings.TrimSpace(line)] = true
	}
	lacks := 0
	for line := range strings.Lines(b.Text) {
		if !have[strings.TrimSpace(line)] {
			lacks++
		}
	}
	if lacks == 0 {
		f.stale[b.Path] = original.Path
		return
	}
	f.unsure[b.Path] = fmt.Sprintf("it has %s that %s lacks", count(lacks, "line"), original.Path)
}

// sameAs reports whether a later list is the same.
func (f *findings) sameAs(later files) bool { return slices.Equal(f.files, later) }

// decide turns what is known into actions, and adds to what is left.
func (f *findings) decide(left []note) ([]action, []note) {
	var todo []action
	gone := map[string]bool{}
	remove := func(name, why string) {
		switch {
		case gone[name]:
		case f.kept[name]:
			left = append(left, note{name, why + `, but it says "` + keepMark + `"`})
		default:
			gone[name] = true
			todo = append(todo, deletion(name, why))
		}
	}
	for _, g := range f.groups {
		for _, name := range g[1:] {
			remove(name, "equal to "+g[0]+", which stays")
		}
	}
	for _, e := range f.files {
		switch original, isBackup := backupOf(e.Path); {
		case e.Folder || gone[e.Path]:
		case e.Size == 0 && !strings.HasPrefix(path.Base(e.Path), "__"):
			remove(e.Path, "empty")
		case f.stale[e.Path] != "":
			remove(e.Path, "a backup; "+f.stale[e.Path]+" has every line of it")
		case f.unsure[e.Path] != "":
			left = append(left, note{e.Path, f.unsure[e.Path]})
		case isBackup && !f.files.has(original):
			left = append(left, note{e.Path, "a backup without its original"})
		}
	}
	return f.moves(todo, left, gone)
}
