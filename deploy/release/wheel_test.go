package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// checkWheels unpacks the wheels as pip does, checks them against their RECORD, imports the client,
// and runs the program.
func checkWheels(t *testing.T, files map[string][]byte) {
	t.Helper()
	for _, suffix := range []string{"-py3-none-any.whl", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"} {
		name, content := named(t, files, suffix)
		dir := t.TempDir()
		wheel := filepath.Join(dir, name)
		if err := os.WriteFile(wheel, content, 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), "python3", "-I", "-c", checkWheel, wheel, dir).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(said), "k8s-cli ") {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
		if suffix == "-py3-none-any.whl" || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
			continue
		}
		scripts, err := filepath.Glob(filepath.Join(dir, "*.data", "scripts", "k8s-cli"))
		if err != nil || len(scripts) != 1 {
			t.Fatalf("%s has the scripts %q (%v)", name, scripts, err)
		}
		if err := os.Chmod(scripts[0], 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), scripts[0], "--version").CombinedOutput()
		if err != nil || !bytes.HasPrefix(out, []byte("k8s-cli "+version(t)+" ")) {
			t.Errorf("%s: the program says %q (%v)", name, out, err)
		}
	}
}

// checkWheel is a program in Python that compares a wheel with its RECORD, and prints the name and
// the version of the package in its metadata, which is that of the module.
const checkWheel = `
import base64, csv, email, hashlib, sys, zipfile
wheel, directory = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
names = wheel.namelist()
info = next(n.partition("/")[0] for n in names if n.endswith(".dist-info/RECORD"))
rows = list(csv.reader(wheel.read(info + "/RECORD").decode().splitlines()))
assert sorted(r[0] for r in rows) == sorted(names), names
for path, digest, size in rows:
    content = wheel.read(path)
    want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert path.endswith("/RECORD") or (digest, size) == ("sha256=" + want, str(len(content))), path
tags = [v for k, v in email.message_from_bytes(wheel.read(info + "/WHEEL")).items() if k == "Tag"]
assert ".".join(t.rpartition("-")[2] for t in tags) == sys.argv[1].rpartition("-")[2][:-4], tags
about = email.message_from_bytes(wheel.read(info + "/METADATA"))
assert info == "k8s_cli-" + about["Version"] + ".dist-info" and about["Requires-Python"] == ">=3.9", about.items()
wheel.extractall(directory)
sys.path.insert(0, directory)
import k8s_cli
assert k8s_cli.__version__ == about["Version"] and k8s_cli.__file__.startswith(directory)
print(about["Name"], about["Version"])
`
