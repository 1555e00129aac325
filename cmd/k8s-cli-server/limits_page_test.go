package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"k8s-cli/test/testkit/must"
)

// TestPageListsTheLimits checks that docs/limits.md has a row for each flag that sets a limit, with
// the default of the flag if it is a number or a size.
func TestPageListsTheLimits(t *testing.T) {
	page := must.Read(t, "../../docs/limits.md")
	limit := regexp.MustCompile(`^(max|keep|submit|history|exec)(-|$)`)
	unit := strings.NewReplacer("Mi", " MiB", "Gi", " GiB")
	thousands := regexp.MustCompile(`(\d)(\d{3})$`)
	found := 0
	command(&config{}).Flags().VisitAll(func(f *pflag.Flag) {
		if !limit.MatchString(f.Name) {
			return
		}
		found++
		row := regexp.MustCompile("(?m)^\\|.*`--" + f.Name + "`.*$").FindString(string(page))
		if row == "" {
			t.Errorf("docs/limits.md has no row for --%s", f.Name)
		}
		value := ""
		switch {
		case f.DefValue == "" || f.DefValue == "0":
		case f.Value.Type() == "int":
			value = thousands.ReplaceAllString(f.DefValue, "$1,$2")
		case f.Value.Type() == "size":
			value = unit.Replace(f.DefValue)
		}
		if !strings.Contains(row, value) {
			t.Errorf("docs/limits.md: the row of --%s does not have the default %s: %s", f.Name, value, row)
		}
	})
	if found < 30 {
		t.Errorf("%d flags set limits", found)
	}
}
