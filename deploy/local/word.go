package main

import "strings"

// word quotes s as one word of the shell.
func word(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
