// Package errtext writes errors for a person at a terminal, without the words of libraries and of the operating system.
package errtext

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// Of returns the text of an error in which those of files, programs and connections are replaced by what has happened.
func Of(err error) string {
	text := wrappers.ReplaceAllString(replace(err.Error(), err), "$1")
	return strings.ReplaceAll(text, io.ErrUnexpectedEOF.Error(), "it ends too early")
}

// wrappers are what the MCP Go SDK, the reader of JSON with comments and packages of ours write before a cause.
var wrappers = regexp.MustCompile(`(^|\s)(?:(?:calling|sending) "[a-z/]+": |(?:rejected by transport|hujson|parsing value|audit|judge|pins): )+`)

// replace replaces in text an error that is known, or else those of what it wraps, the outermost first.
func replace(text string, err error) string {
	if plain := known(err); plain != "" {
		return strings.ReplaceAll(text, err.Error(), plain)
	}
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case interface{ Unwrap() error }:
		return replace(text, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			text = replace(text, inner)
		}
	}
	return text
}

// known returns what an error of the standard library means, "" if that is not known.
func known(err error) string {
	switch e := err.(type) { //nolint:errorlint // each error of the tree comes by itself
	case *fs.PathError:
		return e.Path + ": " + errno(e.Err)
	case *exec.Error:
		if errors.Is(e, exec.ErrNotFound) {
			return fmt.Sprintf("there is no program %q on the PATH", e.Name)
		}
		return fmt.Sprintf("%s: %s", e.Name, errno(e.Err))
	case *url.Error:
		if _, other := errors.AsType[tls.RecordHeaderError](e); other || errors.Is(e, http.ErrSchemeMismatch) {
			return "there is no TLS at this address; write http:// if that is meant"
		}
		return Of(e.Err)
	case *net.DNSError:
		if e.IsNotFound {
			return "there is no host " + e.Name
		}
	case *net.OpError:
		if _, named := e.Err.(*net.DNSError); named || e.Addr == nil { //nolint:errorlint // it is not wrapped
			return Of(e.Err)
		}
		return e.Addr.String() + ": " + errno(e.Err)
	}
	return ""
}

// errno returns what the system's error of one operation means, or its own text.
func errno(err error) string {
	for known, text := range map[error]string{
		fs.ErrNotExist: "there is no such file or folder", fs.ErrPermission: "this is not permitted", fs.ErrExist: "it exists already",
		syscall.EISDIR: "it is a folder", syscall.ENOTDIR: "a part of the path is not a folder", syscall.ENOSPC: "the disk is full",
		syscall.ECONNREFUSED: "nothing listens there", syscall.EADDRINUSE: "another program has this address",
		syscall.EADDRNOTAVAIL: "this machine does not have this address", syscall.ECONNRESET: "the connection was cut",
	} {
		if errors.Is(err, known) {
			return text
		}
	}
	return err.Error()
}
