package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"strings"
)

// bombAttacks are small requests that become large, or deeply nested, when they are parsed.
func bombAttacks() (all []attack) {
	yaml := func(name, text string) {
		all = append(all, call("YAML: "+name, byHeader, request{method: "POST", path: "/tasks/submit", body: text, header: []string{"X-User", "ann", "Content-Type", "application/yaml"}}, refused))
	}
	yaml("a billion laughs", laughs(9, 9))
	yaml("quadratic laughs", "a: &a "+strings.Repeat("x", 30_000)+"\nenvs: {"+strings.Repeat("k: *a, ", 5000)+"}\nrun: true\n")
	yaml("an alias of itself", "a: &a [*a]\nrun: true\n")
	yaml("a mapping in itself", "a: &a {b: *a}\nrun: true\n")
	yaml("merge keys", "a: &a {x: 1}\nb: &b {<<: [*a, *a, *a]}\nrun: true\nenvs: {<<: ["+strings.Repeat("*b,", 9000)+"]}\n")
	yaml("deep lists", "run: "+strings.Repeat("[", 60_000))
	yaml("deep and closed lists", "run: "+strings.Repeat("[", 50_000)+strings.Repeat("]", 50_000))
	yaml("deep mappings", "run: "+strings.Repeat("{a: ", 30_000)+strings.Repeat("}", 30_000))
	yaml("deep by columns", nestedLines(500))
	yaml("sequences of sequences", "run: "+strings.Repeat("- ", 60_000)+"x")
	yaml("many keys", "run: true\nenvs:\n"+manyKeys(15_000, "  k%d: v\n"))
	yaml("many unknown keys", "run: true\n"+manyKeys(10_000, "k%d: v\n"))
	yaml("the same key often", "run: true\nenvs:\n"+strings.Repeat("  k: v\n", 15_000))
	yaml("many documents", strings.Repeat("---\nrun: true\n", 5000))
	yaml("many tags", "run: true\nenvs: {a: "+strings.Repeat("!!str ", 20_000)+"x}\n")
	yaml("a tag of Python's", "run: !!python/object/apply:os.system [id]\n")
	yaml("binary", "run: !!binary "+strings.Repeat("A", 120_000)+"=\n")
	yaml("a long number", "run: true\nnum_nodes: "+strings.Repeat("9", 100_000))
	yaml("a long hexadecimal number", "run: true\nnum_nodes: 0x"+strings.Repeat("f", 100_000))
	yaml("a large exponent", "run: true\nnum_nodes: 1e999999999")
	yaml("sexagesimal", "run: true\nnum_nodes: 1"+strings.Repeat(":59", 30_000))
	yaml("many anchors", "run: true\nenvs:\n"+manyKeys(8000, "  k%d: &a x\n"))
	yaml("NUL", "run: \"a\x00b\"\n")
	yaml("not UTF-8", "run: \xff\xfe\xfd\n")
	yaml("many nodes", "run: true\nnum_nodes: 1000000000")
	json := func(name, path, text string) {
		all = append(all, call("JSON: "+name, byHeader, request{method: "POST", path: path, body: text, header: []string{"X-User", "ann"}}, refused))
	}
	for _, path := range []string{"/tasks/submit", "/tasks/batch", "/volumes/create"} {
		json("deep lists, "+path, path, strings.Repeat("[", 120_000))
		json("deep mappings, "+path, path, strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000))
		json("an unknown deep value, "+path, path, `{"x":`+strings.Repeat("[", 50_000)+strings.Repeat("]", 50_000)+`,"run":"true"`) // the JSON does not end
	}
	json("many keys", "/tasks/submit", `{"run":"true","envs":{`+strings.TrimSuffix(manyKeys(12_000, `"k%d":"",`), ",")+`}}`)
	json("the same key twice", "/tasks/submit", `{"run":"true","run":"false"}`)
	json("the same key often", "/tasks/submit", `{"run":"true",`+strings.Repeat(`"name":"x",`, 8000)+`"setup":""}`)
	json("a long number", "/tasks/submit", `{"run":"true","num_nodes":`+strings.Repeat("9", 100_000)+`}`)
	json("a large exponent", "/tasks/submit", `{"run":"true","num_nodes":1e999999999}`)
	json("a small exponent", "/tasks/submit", `{"run":"true","resources":{"cpus":1e-999999999}}`)
	json("a size beyond all", "/volumes/create", `{"name":"v","size":"`+strings.Repeat("9", 100_000)+`Ei"}`)
	json("a size with an exponent", "/volumes/create", `{"name":"v","size":"1e999999999"}`)
	json("a long text", "/tasks/submit", `{"run":"`+strings.Repeat("x", 200_000)+`"}`)
	json("half a surrogate", "/tasks/submit", `{"run":"\ud800"}`)
	json("not UTF-8", "/tasks/submit", "{\"run\":\"\xff\"}")
	json("trailing text", "/tasks/submit", task14+task14)
	json("NaN", "/tasks/submit", `{"run":"true","num_nodes":NaN}`)
	json("many alternatives", "/tasks/submit", `{"run":"true","resources":{"any_of":[`+strings.TrimSuffix(strings.Repeat(`{"cpus":1},`, 9000), ",")+`]}}`)
	json("a batch of 60,000", "/tasks/batch", "["+strings.TrimSuffix(strings.Repeat(`0,`, 60_000), ",")+"]")
	for encoding, body := range byName(packed(`{"run":"` + strings.Repeat("x", 10<<20) + `"}`)) {
		for _, path := range []string{"/tasks/submit", "/tasks/preview", "/tasks/batch", "/volumes/create"} {
			all = append(all, call(encoding+", "+path, byHeader, request{method: "POST", path: path, body: body, header: []string{"X-User", "ann", "Content-Encoding", encoding}}, codes(400, 413, 415)))
		}
	}
	for _, kind := range []string{"application/xml", "text/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-16"} {
		all = append(all, call("type: "+kind, byHeader, request{method: "POST", path: "/tasks/submit", body: `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>`, header: []string{"X-User", "ann", "Content-Type", kind}}, refused))
	}
	return append(all, control(call("it goes on", byHeader, request{method: "POST", path: "/tasks/preview", body: task14, header: []string{"X-User", "ann"}}, works)))
}

// laughs returns nested lists ("billion laughs"): each level contains the level before many
// times.
func laughs(levels, times int) string {
	var text strings.Builder
	text.WriteString("l0: &l0 ha\n")
	for n := 1; n <= levels; n++ {
		fmt.Fprintf(&text, "l%d: &l%d [%s]\n", n, n, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", n-1), times), ","))
	}
	return text.String() + fmt.Sprintf("run: *l%d\n", levels)
}

func nestedLines(depth int) string {
	var text strings.Builder
	for n := range depth {
		text.WriteString(strings.Repeat(" ", n) + "a:\n")
	}
	return text.String()
}

func manyKeys(n int, form string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, form, i)
	}
	return text.String()
}

// packed returns a text in several compressed formats, by name of the format.
func packed(text string) map[string]string {
	var one, other bytes.Buffer
	g, z := gzip.NewWriter(&one), zlib.NewWriter(&other)
	_, _ = g.Write([]byte(text)) // a buffer never fails
	_, _ = z.Write([]byte(text))
	_, _ = g.Close(), z.Close()
	return map[string]string{"gzip": one.String(), "deflate": other.String(), "br": one.String(), "zstd": one.String(), "gzip, gzip": one.String()}
}
