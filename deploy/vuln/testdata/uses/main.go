// Command uses calls code that is in the tests' database.
package main

import (
	"os"
	"text/tabwriter"
)

func main() { _ = tabwriter.NewWriter(os.Stdout, 0, 8, 1, ' ', 0).Flush() }
