package task

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The patterns of amounts in task files, which become Kubernetes quantities. The forms are
// SkyPilot's (sky/utils/resources_utils.py) and those of Kubernetes.

var (
	cpuForm    = regexp.MustCompile(`^([0-9]{0,9})(\.[0-9]{1,3})?(m?)\+?$`)
	memoryForm = regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([A-Za-z]*)\+?$`)
	hugeForm   = regexp.MustCompile(`^[0-9]{10,}(\.[0-9]*)?\+?$`) // more than any limit of a number
	countForm  = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,3})?$`)
	// a label value, also after the prefixes of vendors
	modelForm = regexp.MustCompile(`^[A-Za-z](?:[A-Za-z0-9._-]{0,48}[A-Za-z0-9])?$`)
	sizeForm  = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,6})?)(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)$`)
)

// memorySizeForm matches SkyPilot's GPU requests by memory, which are not supported: 80GB,
// 80GB+, nvidia:80GB:2.
var memorySizeForm = regexp.MustCompile(`^(?:[A-Za-z]+:)?[0-9]+(?i:GB|MB|TB)\+?(?::[0-9.]+)?$`)

// maxGPUs is far larger than any machine; the largest have 16.
const maxGPUs = 1024

// memoryUnits maps a unit to the suffix of Kubernetes. SkyPilot's units are binary and may
// have any case; a single capital letter is the decimal unit of Kubernetes.
var memoryUnits = map[string]string{
	"": "Gi", "k": "k", "M": "M", "G": "G", "T": "T", "P": "P",
	"kb": "Ki", "mb": "Mi", "gb": "Gi", "tb": "Ti", "pb": "Pi",
	"ki": "Ki", "mi": "Mi", "gi": "Gi", "ti": "Ti", "pi": "Pi",
}

// CPU returns the requested cores as a Kubernetes quantity, or "" if there is no request.
func (r Resources) CPU() (string, error) {
	if r.CPUs == "" {
		return "", nil
	}
	if plain(r.CPUs) {
		return r.CPUs, nil
	}
	if hugeForm.MatchString(r.CPUs) {
		return "", fmt.Errorf("%s is more than 999,999,999 cores, the limit", Quote(r.CPUs))
	}
	m := cpuForm.FindStringSubmatch(r.CPUs)
	if m == nil || isZero(m[1]+m[2]) || m[3] != "" && m[2] != "" {
		return "", fmt.Errorf("%s is not a positive number of cores, for example 4, 0.5, 4+ or 500m", Quote(r.CPUs))
	}
	cores := strings.TrimSuffix(r.CPUs, "+")
	if m[1] == "" { // YAML allows numbers such as .5
		cores = "0" + cores
	}
	return cores, nil
}

// RAM returns the requested memory as a Kubernetes quantity, or "" if there is no request.
// A number without a unit means GiB, as in SkyPilot.
func (r Resources) RAM() (string, error) {
	if r.Memory == "" {
		return "", nil
	}
	if plain(r.Memory) {
		return r.Memory + "Gi", nil
	}
	m := memoryForm.FindStringSubmatch(r.Memory)
	huge := hugeForm.MatchString(r.Memory)
	if m != nil && !isZero(m[1]) {
		suffix, ok := memoryUnits[m[2]]
		if !ok && len(m[2]) == 2 {
			suffix, ok = memoryUnits[strings.ToLower(m[2])]
		}
		if ok && amount(m[1], suffix) >= 1 && amount(m[1], suffix) < math.MaxInt64 {
			return m[1] + suffix, nil
		}
		huge = ok && amount(m[1], suffix) >= math.MaxInt64
	}
	if huge {
		return "", fmt.Errorf("%s is more than 8 EiB, the limit", Quote(r.Memory))
	}
	return "", fmt.Errorf("%s is not a positive amount of memory, for example 16 (GiB), 16+, 4Gi, 512Mi or 64GB", Quote(r.Memory))
}

// GPUs returns the model and the number of the requested accelerators. The model is empty
// if the request has only a number. A fraction rounds up, as in SkyPilot on Kubernetes.
func (r Resources) GPUs() (model string, count int, err error) {
	if r.Accelerators == "" {
		return "", 0, nil
	}
	model, number, both := strings.Cut(r.Accelerators, ":")
	switch {
	case !both && countForm.MatchString(model):
		model, number = "", model
	case !both:
		number = "1"
	}
	n, _ := strconv.ParseFloat(number, 64)
	switch {
	case memorySizeForm.MatchString(r.Accelerators):
		return "", 0, fmt.Errorf("%s requests GPUs by their memory, which is not supported; name the model, for example H100:8", Quote(r.Accelerators))
	case countForm.MatchString(number) && n == 0:
		return "", 0, fmt.Errorf("%s requests 0 GPUs; remove accelerators", Quote(r.Accelerators))
	case model != "" && !modelForm.MatchString(model), both && model == "", !countForm.MatchString(number), n <= 0:
		return "", 0, fmt.Errorf("%s is not NAME, NAME:COUNT or COUNT", Quote(r.Accelerators))
	case n > maxGPUs:
		return "", 0, fmt.Errorf("%s exceeds the limit of %d per node", Quote(r.Accelerators), maxGPUs)
	}
	return model, int(math.Ceil(n)), nil
}

// IsImage reports whether name is a valid name of a container image.
func IsImage(name string) bool { return len(name) <= maxImage && imageForm.MatchString(name) }

// Image returns the requested container image without SkyPilot's prefix docker:.
func (r Resources) Image() string { return strings.TrimPrefix(r.ImageID, "docker:") }

// checkSize returns an error if s is not a valid size of a volume: a Kubernetes quantity of
// bytes with a unit. The unit is required because 10 would mean ten bytes.
func checkSize(s string) error {
	m := sizeForm.FindStringSubmatch(s)
	if m == nil || isZero(m[1]) {
		return fmt.Errorf("%s is not a positive size with a unit, for example 10Gi or 1Ti", Quote(s))
	}
	if b := amount(m[1], m[2]); b < 1 || b >= math.MaxInt64 {
		return fmt.Errorf("%s is not between 1 byte and 8Ei", Quote(s))
	}
	return nil
}

// plain reports whether s is a positive whole number of at most nine digits. Most values
// are, and plain is faster than the patterns.
func plain(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) < 10 && !isZero(s)
}

func isZero(number string) bool { return strings.Trim(number, "0.") == "" }

// amount returns the value of number with a suffix of Kubernetes.
func amount(number, suffix string) float64 {
	n, _ := strconv.ParseFloat(number, 64)
	base := 1000.0
	if strings.HasSuffix(suffix, "i") {
		base = 1024
	}
	return n * math.Pow(base, float64(strings.Index("KMGTPE", strings.ToUpper(suffix[:1]))+1))
}

// Cores returns the requested cores.
func (r Resources) Cores() float64 {
	s, _ := r.CPU()
	number, milli := strings.CutSuffix(s, "m")
	n, _ := strconv.ParseFloat(number, 64)
	if milli {
		return n / 1000
	}
	return n
}

// MemoryBytes returns the requested memory in bytes.
func (r Resources) MemoryBytes() float64 {
	s, _ := r.RAM()
	if s == "" {
		return 0
	}
	number := strings.TrimRight(s, "kKMGTPEi")
	return amount(number, s[len(number):])
}

// maxDuration is the longest max_duration of a task.
const maxDuration = 365 * 24 * time.Hour

// durationForm has no plain number, because its unit is minutes in some fields of SkyPilot,
// and seconds in Kubernetes.
var durationForm = regexp.MustCompile(`^(?:([0-9]{1,9})w)?(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?$`)

// TimeLimit returns the max_duration of the task or 0.
func (s Spec) TimeLimit() (time.Duration, error) {
	if s.MaxDuration == "" {
		return 0, nil
	}
	return ParseDuration(s.MaxDuration)
}

// ParseDuration parses a duration from 1s on with units, for example 1h30m.
func ParseDuration(text string) (time.Duration, error) {
	m := durationForm.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%s is not a duration with a unit, for example 90s, 30m, 2h, 1h30m, 1d or 2w", Quote(text))
	}
	seconds := 0
	for i, unit := range []int{7 * 24 * 3600, 24 * 3600, 3600, 60, 1} {
		n, _ := strconv.Atoi(m[i+1]) // an absent part is 0
		seconds += n * unit
	}
	if seconds < 1 || seconds > int(maxDuration.Seconds()) {
		return 0, fmt.Errorf("%s is not between 1s and %dd", Quote(text), int(maxDuration.Hours()/24))
	}
	return time.Duration(seconds) * time.Second, nil
}

// SizeText returns a number of bytes in the largest unit in which it is a whole number.
func SizeText(bytes int64) string {
	unit := ""
	for _, next := range []string{"Ki", "Mi", "Gi", "Ti", "Pi"} {
		if bytes%1024 != 0 || bytes == 0 {
			break
		}
		bytes, unit = bytes/1024, next
	}
	return strconv.FormatInt(bytes, 10) + unit
}
