package main

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// npmName is the package that a person installs. It depends on a package for each platform, and npm installs only the
// one that fits: one package with all programs would be six times as large.
const npmName = "@fairlead/fairlead"

var (
	//go:embed texts/launcher.js
	launcher []byte
	//go:embed texts/npm.md
	npmReadme []byte
)

// An npmPackage is the file package.json of a package.
type npmPackage struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	Homepage     string            `json:"homepage"`
	Repository   map[string]string `json:"repository"`
	License      string            `json:"license"`
	Engines      map[string]string `json:"engines,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"`
}

// node returns the names that Node has for a platform.
func (p platform) node() (system, cpu string) {
	system, cpu = p.os, p.arch
	if system == "windows" {
		system = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return system, cpu
}

func (p platform) npmName() string {
	system, cpu := p.node()
	return npmName + "-" + system + "-" + cpu
}

// platformPackage writes the package of npm for a platform, with what is in its archive.
func (r release) platformPackage(p platform, programs, documents []file) error {
	system, cpu := p.node()
	var files []file
	for _, program := range programs {
		files = append(files, file{"bin/" + program.name, program.mode, program.content})
	}
	files = append(files, documents...)
	return r.npmPackage(npmPackage{
		Name:        p.npmName(),
		Description: "The program fairlead for " + system + " on " + cpu + ", which " + npmName + " installs",
		OS:          []string{system},
		CPU:         []string{cpu},
		// Yarn keeps packages in archives, from which a program cannot be run.
		PreferUnplug: true,
	}, files)
}

// launcherPackage writes the package of npm that a person installs.
func (r release) launcherPackage(documents []file) error {
	all := map[string]string{}
	for _, p := range platforms {
		all[p.npmName()] = r.version
	}
	return r.npmPackage(npmPackage{
		Name:        npmName,
		Description: about,
		Engines:     map[string]string{"node": ">=18"},
		Bin:         map[string]string{"fairlead": "bin/fairlead.js"},
		Optional:    all,
	}, append([]file{{"bin/fairlead.js", 0o755, launcher}, {"README.md", 0o644, npmReadme}}, documents...))
}

func (r release) npmPackage(p npmPackage, files []file) error {
	p.Version, p.Homepage, p.License = r.version, home, "Apache-2.0"
	p.Repository = map[string]string{"type": "git", "url": "git+" + home + ".git"}
	about, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	content := []file{{"package/package.json", 0o644, append(about, '\n')}}
	for _, f := range files {
		content = append(content, file{"package/" + f.name, f.mode, f.content})
	}
	archive, err := tarGz(content, r.time)
	if err != nil {
		return err
	}
	return r.save(r.npmFile(p.Name), archive)
}

// npmFile returns the name that npm pack gives a package.
func (r release) npmFile(name string) string {
	return strings.NewReplacer("@", "", "/", "-").Replace(name) + "-" + r.version + ".tgz"
}
