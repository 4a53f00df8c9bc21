package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A platform has the names of Go.
type platform struct{ os, arch string }

var platforms = []platform{
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// programs returns the names of the files of the programs: the command, and what a coding agent starts at each of its
// calls, which the command must be beside.
func (p platform) programs() []string {
	if p.os == "windows" {
		return []string{"fairlead.exe", "fairlead-hook.exe"}
	}
	return []string{"fairlead", "fairlead-hook"}
}

// archiveOf returns the name of the archive for a platform.
func (r release) archiveOf(p platform) string {
	name := fmt.Sprintf("fairlead_%s_%s_%s", r.version, p.os, p.arch)
	if p.os == "windows" {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// A file of an archive.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// archive writes the archive for a platform, and returns its SHA-256.
func (r release) archive(p platform, files []file) (string, error) {
	pack := tarGz
	if p.os == "windows" {
		pack = zipped
	}
	archive, err := pack(files, r.time)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(archive)
	return hex.EncodeToString(sum[:]), r.save(r.archiveOf(p), archive)
}

func (r release) save(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644)
}

// tarGz packs files, in their order and with one time, so that equal files give equal bytes.
func tarGz(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), compressed.Close())
	return out.Bytes(), err
}

// zipped does the same for Windows, which opens zip files without a program of its own.
func zipped(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}

// sumsName is the file of checksums, in the form of sha256sum.
const sumsName = "SHA256SUMS"

// checksums writes the SHA-256 of every file of the output.
func (r release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, entry := range entries {
		if entry.Name() == sumsName || entry.Name() == sumsName+".sig" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return r.save(sumsName, []byte(lines.String()))
}
