// Package shellread runs command lines that preflight/probe calls reads, in a sandbox, and checks that they change nothing.
package shellread
