// Package paths reports whether a file that a call names is below a root that the host gave.
package paths

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Roots are the folders where a tool may read and write. The fields are those of preflight.Paths, which documents them.
type Roots struct {
	Folder string
	Home   string
	Read   []string
	Write  []string
	Local  bool
}

// Clean returns the roots as they are compared, or what is wrong with them.
func (r Roots) Clean() (Roots, error) {
	if !path.IsAbs(r.Folder) {
		return r, fmt.Errorf("the folder %q is not an absolute path, such as /home/me/project", r.Folder)
	}
	r.Folder = path.Clean(r.Folder)
	if r.Home != "" {
		if !path.IsAbs(r.Home) {
			return r, fmt.Errorf("the home %q is not an absolute path", r.Home)
		}
		r.Home = path.Clean(r.Home)
	}
	for _, list := range []*[]string{&r.Read, &r.Write} {
		if *list == nil {
			continue
		}
		made := make([]string, 0, len(*list)+1)
		for _, root := range *list {
			clean, ok := r.Resolve(r.Folder, root)
			if !ok || root == "" {
				return r, fmt.Errorf("the root %q is neither a path nor below a home that is given", root)
			}
			made = append(made, clean)
		}
		*list = made
	}
	if r.Read != nil {
		r.Read = append(append(r.Read, r.Folder), r.Write...)
	}
	return r, nil
}

// Bounds reports whether reads are bound to roots.
func (r *Roots) Bounds() bool { return r != nil && r.Read != nil }

// Resolve returns the absolute path that a name stands for in a folder. It returns false if that is not known: below the
// home of somebody else, or if the home is not given.
func (r *Roots) Resolve(folder, name string) (clean string, ok bool) {
	switch {
	case strings.ContainsAny(name, "\x00\n"):
		return "", false
	case path.IsAbs(name):
		return r.join("/", name), true
	case name == "~" || strings.HasPrefix(name, "~/"):
		if r.Home == "" || climbs(name) { // in quotes, ~ is a name
			return "", false
		}
		return r.join(r.Home, name[1:]), true
	case strings.HasPrefix(name, "~"), folder == "":
		return "", false
	}
	return r.join(folder, name), true
}

// join appends a name to a folder. A step up behind a link leaves the folder that the link leads to.
func (r *Roots) join(folder, name string) string {
	if !r.Local || !climbs(name) {
		return path.Join(folder, name)
	}
	for step := range strings.SplitSeq(name, "/") {
		if step == ".." {
			folder = realPath(folder)
		}
		folder = path.Join(folder, step)
	}
	return folder
}

// climbs reports whether a path has a step up.
func climbs(name string) bool { return slices.Contains(strings.Split(name, "/"), "..") }

// Reads reports whether a resolved path may be read without a question: it is below a root.
func (r *Roots) Reads(clean string) bool {
	return r.Read == nil || r.below(clean, r.Read) != ""
}

// Writes reports whether a resolved path may be written as a Moderate call: it is below a root, and no part of it below
// the root is hidden or the name of a file that programs act on, such as .git or Makefile. The root itself is one if
// what is written goes into it.
func (r *Roots) Writes(clean string, into bool) bool {
	root := r.below(clean, r.Write)
	if root == "" || clean == root && !into {
		return false
	}
	for _, one := range r.real(clean) {
		rest := strings.TrimPrefix(one, r.below(clean, r.Write))
		if one != clean {
			rest = strings.TrimPrefix(one, r.realRoot(root))
		}
		for part := range strings.SplitSeq(strings.Trim(rest, "/"), "/") {
			if Acts(part) {
				return false
			}
		}
	}
	return true
}

// below returns the root that a path is below, where a link on this machine leads below one as well.
func (r *Roots) below(clean string, roots []string) string {
	for _, root := range roots {
		if !within(clean, root) {
			continue
		}
		if !r.Local || within(realPath(clean), realPath(root)) {
			return root
		}
	}
	return ""
}

// Real returns the paths that a path stands for: itself and, on this machine, where its links lead.
func (r *Roots) Real(clean string) []string { return r.real(clean) }

func (r *Roots) real(clean string) []string {
	if !r.Local {
		return []string{clean}
	}
	return []string{clean, realPath(clean)}
}

func (r *Roots) realRoot(root string) string {
	if !r.Local {
		return root
	}
	return realPath(root)
}

func within(clean, root string) bool {
	return clean == root || root == "/" || strings.HasPrefix(clean, root+"/")
}

// realPath returns a path with its links followed, as far as it is there.
func realPath(clean string) string {
	rest := ""
	for at := clean; ; at = path.Dir(at) {
		if led, err := filepath.EvalSymlinks(at); err == nil {
			return path.Join(filepath.ToSlash(led), rest)
		}
		if _, err := os.Lstat(at); err == nil { // a link that leads nowhere, or too far
			return "\x00"
		}
		if at == "/" || at == "." {
			return clean
		}
		rest = path.Join(path.Base(at), rest)
	}
}

// acting are the names of files that programs act on which read a folder. Sources: the manuals of Bundler, CocoaPods, make,
// npm, pip, setuptools, Gradle, Maven, sbt, Mix, Composer, Cargo, Go, Terraform, Docker, CMake, Vagrant, Homebrew, tox.
var acting = strings.Fields(`gemfile *.gemspec rakefile podfile makefile gnumakefile *.mk justfile taskfile.y* package.json
	node_modules setup.py setup.cfg conftest.py sitecustomize.py *.pth pyproject.toml tox.ini pipfile *.gradle *.gradle.kts pom.xml build.sbt
	mix.exs composer.json cargo.toml build.rs go.mod go.work *.tf *.tfvars *.hcl dockerfile* docker-compose.y* compose.y*
	cmakelists.txt vagrantfile jenkinsfile brewfile fastfile *.config.js *.config.ts *.config.mjs *.config.cjs *.service *.desktop`)

// Acts reports whether a part of a path is hidden, or is the name of a file that programs act on.
func Acts(part string) bool {
	low := strings.ToLower(part)
	return strings.HasPrefix(low, ".") || slices.ContainsFunc(acting, func(p string) bool {
		ok, err := path.Match(p, low)
		return ok && err == nil
	})
}
