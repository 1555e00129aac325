// Command count measures the Go sources below a directory, by default the working directory.
// The command prints the lines of code of the product and of its tests and tools, without
// blank lines and comments; the lengths of functions; the sizes of packages; and the
// interfaces and types with the most methods. Generated files and testdata do not count.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
)

// The limits of a review. The output shows each limit beside the figure.
const (
	maxInterface = 6
	maxMethods   = 25
)

// maxFunction is the limit of the length of functions in lines, by percentile.
var maxFunction = map[int]int{50: 10, 75: 15, 90: 24, 100: 75}

func main() {
	flag.Parse()
	all, err := measure(os.DirFS(cmp.Or(flag.Arg(0), ".")))
	if err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
	report(os.Stdout, all)
}

func report(out io.Writer, all []file) {
	var product, tests []file
	for _, f := range all {
		if f.test {
			tests = append(tests, f)
		} else {
			product = append(product, f)
		}
	}
	lines, others := codeOf(product), codeOf(tests)
	fmt.Fprintf(out, "product          %6d lines of code in %d files\n", lines, len(product))
	fmt.Fprintf(out, "tests and tools  %6d lines of code in %d files, %.2f for each line of the product\n\n",
		others, len(tests), float64(others)/float64(max(lines, 1)))
	reportFunctions(out, product)
	reportPackages(out, product)
	reportTypes(out, product)
}

func codeOf(files []file) (n int) {
	for _, f := range files {
		n += f.code
	}
	return n
}

func reportFunctions(out io.Writer, product []file) {
	var functions []function
	for _, f := range product {
		functions = append(functions, f.functions...)
	}
	if len(functions) == 0 {
		return
	}
	slices.SortStableFunc(functions, func(a, b function) int { return cmp.Compare(a.code, b.code) })
	fmt.Fprintf(out, "functions: %d; lines of code", len(functions))
	for _, p := range []int{50, 75, 90, 100} {
		fmt.Fprintf(out, ", p%d %d (at most %d)", p, functions[(len(functions)-1)*p/100].code, maxFunction[p])
	}
	fmt.Fprintln(out)
	for _, f := range slices.Backward(functions[max(0, len(functions)-5):]) {
		fmt.Fprintf(out, "%6d%s %s\n", f.code, over(f.code, maxFunction[100]), f.name)
	}
}

// over marks a figure that exceeds its limit.
func over(n, most int) string {
	if n > most {
		return " !"
	}
	return "  "
}

func reportPackages(out io.Writer, product []file) {
	packages := map[string][]file{}
	for _, f := range product {
		packages[path.Dir(f.name)] = append(packages[path.Dir(f.name)], f)
	}
	fmt.Fprintln(out, "\npackages: lines with comments and blanks, lines of code, files")
	names := slices.SortedFunc(maps.Keys(packages), func(a, b string) int {
		return cmp.Or(cmp.Compare(codeOf(packages[b]), codeOf(packages[a])), cmp.Compare(a, b))
	})
	for _, name := range names {
		var lines int
		for _, f := range packages[name] {
			lines += f.lines
		}
		fmt.Fprintf(out, "%6d %6d %4d  %s\n", lines, codeOf(packages[name]), len(packages[name]), name)
	}
}

func reportTypes(out io.Writer, product []file) {
	interfaces, methods := interfacesOf(product), map[string]int{}
	for _, f := range product {
		for _, m := range f.functions {
			if m.of != "" {
				methods[path.Dir(f.name)+" "+m.of]++
			}
		}
	}
	fmt.Fprintf(out, "\ninterfaces: %d; the widest (at most %d methods)\n", len(interfaces), maxInterface)
	widest := most(interfaces)
	for _, name := range widest[:min(5, len(widest))] {
		fmt.Fprintf(out, "%6d%s %s\n", interfaces[name], over(interfaces[name], maxInterface), name)
	}
	fmt.Fprintf(out, "\ntypes with more than %d methods\n", maxMethods)
	for _, name := range most(methods) {
		if methods[name] > maxMethods {
			fmt.Fprintf(out, "%6d   %s\n", methods[name], name)
		}
	}
}

// most returns the keys of m in descending order of their values.
func most(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
}
