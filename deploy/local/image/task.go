package image

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// WritePause writes the pause image around the program at exe.
func WritePause(path, exe string) error {
	program, err := static(exe)
	if err != nil {
		return err
	}
	return save(path, []file{program.at("pause")}, v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}, Pause)
}

// WriteTask writes the task image around a static bash and a static busybox.
func WriteTask(ctx context.Context, path, bash, busybox string) error {
	shell, err := static(bash)
	if err != nil {
		return err
	}
	box, err := static(busybox)
	if err != nil {
		return err
	}
	applets, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return fmt.Errorf("ask busybox what it can do: %w", err)
	}
	files := append(skeleton(), shell.at("bin/bash"), box.at("bin/busybox"))
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "bash" && applet != "busybox" {
			files = append(files, file{path: "bin/" + applet, link: "busybox", mode: 0o777})
		}
	}
	return save(path, files, v1.Config{
		Cmd:        []string{"/bin/bash"},
		Env:        []string{"PATH=/usr/local/bin:/bin", "HOME=/root", "LANG=C.UTF-8"},
		WorkingDir: "/",
	}, taskNames...)
}

// skeleton is what scripts expect of a root file system. Everything that is
// run is in /bin, whatever path a script calls it by.
func skeleton() []file {
	files := []file{
		{path: "tmp/", mode: 0o1777},
		{path: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n")},
		{path: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnogroup:x:65534:\n")},
		{path: "etc/nsswitch.conf", mode: 0o644, content: []byte("hosts: files dns\n")},
		{path: "etc/os-release", mode: 0o644, content: []byte("ID=k8s-cli-task\nPRETTY_NAME=\"bash and busybox, for tries and tests\"\n")},
		{path: "usr/bin", link: "../bin", mode: 0o777},
		{path: "usr/sbin", link: "../bin", mode: 0o777},
		{path: "sbin", link: "bin", mode: 0o777},
	}
	for _, dir := range []string{"bin/", "root/", "usr/local/bin/", "var/log/", "var/tmp/", "mnt/", "opt/", "home/", "run/"} {
		files = append(files, file{path: dir, mode: 0o755})
	}
	return files
}

// static reads a program that needs no library, which an image without any can run.
func static(path string) (file, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	exe, err := elf.Open(path)
	if err != nil {
		return file{}, fmt.Errorf("%s is not a program: %w", path, err)
	}
	defer func() { _ = exe.Close() }() // it was only read
	for _, p := range exe.Progs {
		if p.Type == elf.PT_INTERP {
			return file{}, fmt.Errorf("%s is not a static program", path)
		}
	}
	return file{mode: 0o755, content: content}, nil
}

func (f file) at(path string) file {
	f.path = path
	return f
}
