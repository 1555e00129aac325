// Command uses calls what the database of the tests has an entry about.
package main

import (
	"os"
	"text/tabwriter"
)

func main() { _ = tabwriter.NewWriter(os.Stdout, 0, 8, 1, ' ', 0).Flush() }
