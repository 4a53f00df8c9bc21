// Release writes what is published of the program fairlead, from its binaries: an archive for each platform, the
// packages of npm, a formula for Homebrew, a manifest for Scoop, and the checksums of all.
//
//	go -C verify run ./release -version v0.1.0 -time 1790000000 -programs DIR -out DIR
//
// The programs are DIR/linux_amd64/fairlead, DIR/windows_arm64/fairlead.exe and so on. Equal programs, version and time
// give equal bytes. Files that are in the folder of the output already have checksums as well. The checksums are signed if
// FAIRLEAD_RELEASE_KEY names an SSH key.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

func main() {
	var r release
	version := flag.String("version", "", "the `VERSION`, such as v0.1.0")
	seconds := flag.Int64("time", 0, "the time of all files, in `SECONDS` since 1970")
	flag.StringVar(&r.programs, "programs", "", "the `FOLDER` of the programs, with a folder for each platform")
	flag.StringVar(&r.out, "out", "", "the `FOLDER` to write to")
	flag.Parse()
	if *version == "" || *seconds == 0 || r.programs == "" || r.out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	r.version, r.time = number(*version), time.Unix(*seconds, 0).UTC()
	err := r.write()
	if err == nil {
		err = r.sign(os.Getenv(keyVariable))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A release has a version without the v, the time of all its files, and the folders of its programs and of the output.
type release struct {
	version       string
	time          time.Time
	programs, out string
}

// number returns a version of Go as Homebrew, Scoop and npm write it: without the v.
func number(version string) string {
	if version[0] == 'v' {
		return version[1:]
	}
	return version
}

// write writes all files of the release.
func (r release) write() error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	var documents []file
	for _, name := range []string{"LICENSE", "NOTICE"} {
		content, err := os.ReadFile(root + "/" + name)
		if err != nil {
			return err
		}
		documents = append(documents, file{name, 0o644, content})
	}
	sums := map[platform]string{}
	var errs []error
	for _, p := range platforms {
		var programs []file
		for _, name := range p.programs() {
			program, err := os.ReadFile(filepath.Join(r.programs, p.os+"_"+p.arch, name))
			if err != nil {
				return fmt.Errorf("%w; .ci/release builds the programs", err)
			}
			programs = append(programs, file{name, 0o755, program})
		}
		sums[p], err = r.archive(p, slices.Concat(programs, documents))
		errs = append(errs, err, r.platformPackage(p, programs, documents))
	}
	return errors.Join(append(errs, r.launcherPackage(documents), r.formula(sums), r.manifest(sums), r.checksums())...)
}
